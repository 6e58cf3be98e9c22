// Package browser is the source of listings that are web pages which scripts have
// to fill: a headless Chromium of our own renders them, and watch/extract reads
// what became of them.
//
//	src, err := browser.New(browser.Config{Path: "/usr/bin/chromium", Dialer: dialer, Client: client})
//	defer src.Close()
//
// It is costly, so it is opt-in. One browser is started at the first look and kept
// warm; at most Config.Tabs pages are open at once, each in a fresh incognito
// context without downloads and dialogs. A browser that dies is started again by
// the next look; Close ends it with all its processes.
//
// # What a page can reach
//
// The browser has no way out but a proxy of this package, which connects through
// Config.Dialer: internal/door checks every address after name resolution, at the
// moment of connecting. So no page, frame, script, redirect or web socket reaches
// this machine or a private network, whatever it calls them, and whatever its
// names resolve to the second time. Addresses of this machine go to the proxy
// too. The browser itself resolves no names and sends no UDP. It is driven over a
// pipe: no port is open for its control.
//
// # The sandbox
//
// Chromium confines pages in a sandbox that cannot work for root. As root it runs
// without one, and a hole in its renderer is then one in this process's account:
// run lastlook as an ordinary user if you use this source. Config.Sandbox says
// what to do.
//
// Outcomes and errors are those of package fetch below source/internal.
package browser
