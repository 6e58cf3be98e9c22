// The service worker: it shows notifications when nobody has the page open. A
// push may come late, to a phone that was off. So the worker takes a last look of
// its own: it asks the server what is true now, and shows that.
'use strict';

// How long the server is waited for; then what was pushed is shown.
const patience = 3000;

// ---- Decisions: pure, and called by tests without a browser. ----

// readPayload reads what was pushed; see the package channel/push. Whatever it
// is, there is something to show: the browser insists on a notification.
function readPayload(text) {
  let p = null;
  try { p = JSON.parse(text); } catch { /* no JSON: shown as it is */ }
  if (p === null || typeof p !== 'object' || p.v !== 1 || typeof p.title !== 'string') {
    p = { v: 1, title: 'lastlook', body: typeof text === 'string' ? text.slice(0, 500) : '' };
  }
  return p;
}

// watchOf returns the id of the watch that a payload is about, "" if it is about
// something else.
function watchOf(p) {
  const id = (p.data && typeof p.data.watch === 'string' && p.data.watch) || p.subject || '';
  return /^w_[a-z0-9]+$/.test(id) ? id : '';
}

// sameValue says whether what is true now is what was pushed.
function sameValue(p, now) {
  return priceOf(p) !== '' && priceOf(p) === moneyText(now.price) && availabilityOf(p) === (now.availability || '');
}

// decide returns what to show: of a payload, of what the server says is true now
// (null if it said nothing, {gone: true} if the watch is no more), and of the
// notification that is shown under the same tag (its data; null if there is none).
function decide(p, now, shown) {
  const watch = watchOf(p);
  const data = { url: p.url || '', watch, id: p.id || '', holds: true, reasons: reasonsOf(p), price: priceOf(p), availability: availabilityOf(p) };
  let title = p.title, body = p.body || '';
  if (now && now.gone) {
    title = 'No longer: ' + p.title;
    body = 'It is not watched any more.';
    data.holds = false;
  } else if (now && now.known && !sameValue(p, now)) {
    data.holds = now.holds;
    data.price = moneyText(now.price);
    data.availability = now.availability || '';
    title = (now.holds ? '' : 'No longer: ') + (now.title || p.title);
    body = (now.holds ? '' : 'Now ') + now.body;
  }
  const snoozed = Boolean(now && now.snoozed_until);
  const quiet = Boolean(p.silent) || snoozed || !isNews(data, shown);
  const options = {
    body, data, icon: '/icon-192.png', badge: '/badge-96.png', silent: quiet, lang: 'en',
    timestamp: p.at || undefined,
    actions: watch && data.holds ? [{ action: 'snooze', title: 'Snooze a day' }, { action: 'stop', title: 'Stop watching' }] : [],
  };
  if (p.tag) {
    options.tag = p.tag;
    options.renotify = !quiet;
  }
  return { title, options };
}

// isNews says whether what is to be shown says something new, beside a price that
// has moved, to whom the shown one is known.
function isNews(data, shown) {
  if (!data.holds) return false; // it takes something back: no reason to ring
  if (!shown) return true;
  return !shown.holds || shown.availability !== data.availability || shown.reasons.join() !== data.reasons.join();
}

function reasonsOf(p) { return p.data && Array.isArray(p.data.reasons) ? p.data.reasons.map(String) : []; }
function priceOf(p) { return p.data ? moneyText(p.data.price) : ''; }

// moneyText returns {amount, currency} as one text, to be compared; "" for none.
function moneyText(m) { return m && m.amount && m.currency ? m.amount + ' ' + m.currency : ''; }

function availabilityOf(p) { return p.data && typeof p.data.availability === 'string' ? p.data.availability : ''; }

function bytesOf(base64url) {
  const text = atob(base64url.replace(/-/g, '+').replace(/_/g, '/'));
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

function sameKey(buffer, base64url) {
  if (!buffer) return false;
  const a = new Uint8Array(buffer), b = bytesOf(base64url);
  return a.length === b.length && a.every((v, i) => v === b[i]);
}

// ---- What the worker does. ----

// api calls the HTTP API as this device: its cookie goes along.
async function api(method, path, body) {
  const request = { method, credentials: 'same-origin', cache: 'no-store', headers: { Accept: 'application/json' } };
  if (body !== undefined) {
    request.headers['Content-Type'] = 'application/json';
    request.body = JSON.stringify(body);
  }
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), patience);
  try {
    const answer = await fetch('/api/v1/' + path, { ...request, signal: abort.signal });
    const value = answer.status === 204 ? null : await answer.json();
    return { status: answer.status, ok: answer.ok, value };
  } finally {
    clearTimeout(timer);
  }
}

// lastLook asks what is true now; null if the server does not say.
async function lastLook(watch) {
  if (!watch) return null;
  try {
    const { status, ok, value } = await api('GET', 'watches/' + watch + '/now');
    if (status === 404) return { gone: true };
    return ok ? value : null;
  } catch {
    return null;
  }
}

async function onPush(text) {
  const p = readPayload(text);
  const now = await lastLook(watchOf(p));
  let shown = null;
  if (p.tag) {
    const old = await self.registration.getNotifications({ tag: p.tag });
    if (old.length > 0) shown = old[old.length - 1].data;
  }
  const { title, options } = decide(p, now, shown && Array.isArray(shown.reasons) ? shown : null);
  await self.registration.showNotification(title, options);
}

async function onClick(action, notification) {
  const data = notification.data || {};
  notification.close();
  if (action !== 'snooze' && action !== 'stop') {
    return self.clients.openWindow(data.url || '/');
  }
  const path = 'watches/' + data.watch;
  let ok = false;
  try {
    const answer = await (action === 'snooze' ? api('POST', path + '/snooze', { hours: 24 }) : api('DELETE', path));
    ok = answer.ok || (action === 'stop' && answer.status === 404);
  } catch { /* said below */ }
  if (ok) return undefined;
  return self.registration.showNotification(notification.title, {
    body: (action === 'snooze' ? 'It could not be snoozed' : 'It is still watched') + ': open lastlook and try again.',
    data: { url: '/', watch: '', id: '', holds: false, reasons: [] }, icon: '/icon-192.png', badge: '/badge-96.png', silent: true, tag: notification.tag,
  });
}

// subscription returns one that was made with the server's present key, fresh if
// the present one has ended.
async function subscription(key, ended) {
  const manager = self.registration.pushManager;
  let s = await manager.getSubscription();
  if (s && (ended || !sameKey(s.options.applicationServerKey, key))) {
    await s.unsubscribe();
    s = null;
  }
  return s || manager.subscribe({ userVisibleOnly: true, applicationServerKey: bytesOf(key) });
}

// onChange gives the server the subscription that takes an old one's place.
async function onChange(old) {
  const { value } = await api('GET', 'push');
  const key = value && value.application_server_key;
  if (!key) return;
  const s = await subscription(key, false);
  const body = { subscription: s.toJSON(), application_server_key: key };
  let answer = await api('POST', 'devices/self/subscription/change', old ? { ...body, old_endpoint: old.endpoint } : body);
  if (answer.status === 409) {
    // Either the page was faster, or the push service has ended this one too.
    answer = await api('PUT', 'devices/self/subscription', body);
    if (answer.status === 409) {
      const fresh = await subscription(key, true);
      await api('PUT', 'devices/self/subscription', { subscription: fresh.toJSON(), application_server_key: key });
    }
  }
}

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('push', (event) => event.waitUntil(onPush(event.data ? event.data.text() : '')));
self.addEventListener('notificationclick', (event) => event.waitUntil(onClick(event.action, event.notification)));
self.addEventListener('pushsubscriptionchange', (event) => event.waitUntil(onChange(event.oldSubscription)));
