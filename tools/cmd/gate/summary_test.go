package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// What go test -json prints, shortened: a table with a failing row, skips with
// and without a reason, a test that panics, a package that does not build.
const events = `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestTable"}
{"Action":"output","Package":"m/a","Test":"TestTable","Output":"=== RUN   TestTable\n"}
{"Action":"run","Package":"m/a","Test":"TestTable/one"}
{"Action":"pass","Package":"m/a","Test":"TestTable/one","Elapsed":0}
{"Action":"run","Package":"m/a","Test":"TestTable/two/half"}
{"Action":"output","Package":"m/a","Test":"TestTable/two/half","Output":"    a_test.go:7: got 1, want 2\n"}
{"Action":"fail","Package":"m/a","Test":"TestTable/two/half","Elapsed":0}
{"Action":"fail","Package":"m/a","Test":"TestTable","Elapsed":0}
{"Action":"run","Package":"m/a","Test":"TestReal"}
{"Action":"output","Package":"m/a","Test":"TestReal","Output":"=== RUN   TestReal\n"}
{"Action":"output","Package":"m/a","Test":"TestReal","Output":"    a_test.go:9: no browser: install chromium\n"}
{"Action":"output","Package":"m/a","Test":"TestReal","Output":"--- SKIP: TestReal (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestReal","Elapsed":0}
{"Action":"run","Package":"m/a","Test":"TestMute"}
{"Action":"skip","Package":"m/a","Test":"TestMute","Elapsed":0}
{"Action":"fail","Package":"m/a","Elapsed":0.1}
{"Action":"skip","Package":"m/none","Elapsed":0}
{"ImportPath":"m/b [m/b.test]","Action":"build-output","Output":"b_test.go:3:1: undefined: nope\n"}
{"ImportPath":"m/b [m/b.test]","Action":"build-fail"}
{"Action":"start","Package":"m/b"}
{"Action":"output","Package":"m/b","Output":"FAIL\tm/b [build failed]\n"}
{"Action":"fail","Package":"m/b","Elapsed":0,"FailedBuild":"m/b [m/b.test]"}
go: the command's own words
{"Action":"run","Package":"m/c","Test":"TestFine"}
{"Action":"pass","Package":"m/c","Test":"TestFine","Elapsed":0}
{"Action":"output","Package":"m/c","Output":"ok  \tm/c\t(cached)\n"}
{"Action":"pass","Package":"m/c","Elapsed":0}
`

func TestSummary(t *testing.T) {
	var out strings.Builder
	s := newSummary(&out)
	if err := s.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	if err := s.finish(time.Second, "", false); !errors.Is(err, errFailed) {
		t.Errorf("finish: %v, want errFailed", err)
	}
	for _, want := range []string{
		"\nFAIL m/a TestTable/two/half\n    a_test.go:7: got 1, want 2\n",
		"b_test.go:3:1: undefined: nope\nFAIL\tm/b [build failed]\n",
		"go: the command's own words\n",
		"m/c  1 passed (cached)\n",
		"  because: no browser: install chromium\n    m/a TestReal\n",
		"  because: no reason given\n    m/a TestMute\n",
		"\n2 passed, 2 failed, 2 skipped\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the summary lacks %q:\n%s", want, &out)
		}
	}
	if parent := "FAIL m/a TestTable\n"; strings.Contains(out.String(), parent) {
		t.Errorf("the summary tells of a test that failed by its subtest alone:\n%s", &out)
	}
}

func TestFinish(t *testing.T) {
	passing := summary{passed: 3}
	skipping := summary{passed: 3, skipped: 1, skips: map[string][]testID{"why": {{"p", "T"}}}}
	elsewhere := func(whys ...string) summary {
		s := summary{passed: 3, skips: map[string][]testID{}, elsewhere: []string{"test-browser", "test-postgres"}}
		for _, why := range whys {
			s.skipped++
			s.skips[why] = []testID{{"p", "T"}}
		}
		return s
	}
	tests := []struct {
		name   string
		sum    summary
		noRace string
		ci     bool
		ok     bool
	}{
		{"passed", passing, "", true, true},
		{"skipped at home", skipping, "", false, true},
		{"skipped in CI", skipping, "", true, false},
		{"run elsewhere", elsewhere("make test-browser: needs a browser", "make test-postgres: needs a server"), "", true, true},
		{"run elsewhere, but for one", elsewhere("make test-browser: needs a browser", "no browser: install one"), "", true, false},
		{"run by a target that CI does not run", elsewhere("make test-moon: needs a rocket"), "", true, false},
		{"a target without a reason", elsewhere("make test-browser"), "", true, false},
		{"no race at home", passing, "no C compiler", false, true},
		{"no race in CI", passing, "no C compiler", true, false},
		{"failed", summary{passed: 1, failed: 1}, "", false, false},
		{"go test failed by itself", summary{passed: 1, goFailed: true}, "", false, false},
		{"no test", summary{}, "", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			tt.sum.out = &out
			if err := tt.sum.finish(time.Second, tt.noRace, tt.ci); (err == nil) != tt.ok {
				t.Errorf("finish: %v, want ok %v:\n%s", err, tt.ok, &out)
			}
		})
	}
}
