// Runs the service worker without a browser: it is given what it asks a browser
// for, and what it did is printed as JSON. It reads one scenario from standard
// input: {payload, now: {status, body} | "hang" | "fail", shown, click: {action, data}, change: {…}}.
import fs from 'node:fs';
import vm from 'node:vm';

const scenario = JSON.parse(fs.readFileSync(0, 'utf8'));
const did = { shown: [], fetched: [], opened: [], closed: 0, subscribed: 0, unsubscribed: 0, waited: 0, skipped: 0, claimed: 0 };
const listeners = {};

const subscription = (key, endpoint) => ({
  endpoint,
  options: { applicationServerKey: key ? Uint8Array.from(Buffer.from(key, 'base64url')).buffer : null },
  toJSON() { return { endpoint, keys: { p256dh: 'p', auth: 'a' } }; },
  async unsubscribe() { did.unsubscribed++; current = null; return true; },
});
const change = scenario.change || {};
let current = change.current ? subscription(change.current.key, change.current.endpoint) : null;

const self = {
  addEventListener(type, listener) { listeners[type] = listener; },
  skipWaiting() { did.skipped++; },
  clients: {
    async claim() { did.claimed++; },
    async openWindow(url) { did.opened.push(url); },
  },
  registration: {
    async getNotifications({ tag }) { return (scenario.shown || []).filter((n) => n.tag === tag); },
    async showNotification(title, options) {
      if (options.silent && options.renotify) throw new TypeError('silent and renotify');
      if (options.renotify && !options.tag) throw new TypeError('renotify without a tag');
      did.shown.push({ title, ...options });
    },
    pushManager: {
      async getSubscription() { return current; },
      async subscribe(options) {
        if (!options.userVisibleOnly) throw new Error('not visible');
        did.subscribed++;
        current = subscription(Buffer.from(options.applicationServerKey).toString('base64url'), 'https://push.example/new' + did.subscribed);
        return current;
      },
    },
  },
};

// fetch answers by the scenario's list: the first entry whose method and path fit.
async function fetch(path, options) {
  did.fetched.push({ method: options.method, path, body: options.body ? JSON.parse(options.body) : null, credentials: options.credentials, headers: options.headers });
  const i = (scenario.answers || []).findIndex((a) => a.method === options.method && a.path === path && !a.used);
  const answer = i >= 0 ? scenario.answers[i] : null;
  if (!answer || answer.fail) throw new TypeError('Failed to fetch');
  if (answer.once) answer.used = true;
  if (answer.hang) {
    return new Promise((_, reject) => options.signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError'))));
  }
  return { status: answer.status, ok: answer.status < 300, async json() { return answer.body; } };
}

// The worker's time runs faster, so that a test need not wait as long as it does.
const quick = (f, ms) => setTimeout(f, ms / 100);
const context = vm.createContext({
  self, fetch, atob, Uint8Array, AbortController, setTimeout: quick, clearTimeout, console,
});
vm.runInContext(fs.readFileSync(process.argv[2], 'utf8'), context, { filename: 'sw.js' });

async function dispatch(type, event) {
  const waits = [];
  listeners[type]({ ...event, waitUntil(p) { did.waited++; waits.push(p); } });
  await Promise.all(waits);
}

await dispatch('install', {});
await dispatch('activate', {});
if ('payload' in scenario) await dispatch('push', { data: scenario.payload === null ? null : { text: () => scenario.payload } });
if (scenario.click) {
  await dispatch('notificationclick', {
    action: scenario.click.action,
    notification: { title: 'T', tag: 'tag1', data: scenario.click.data, close() { did.closed++; } },
  });
}
if (scenario.change) await dispatch('pushsubscriptionchange', { oldSubscription: change.old ? subscription('', change.old) : null });
process.stdout.write(JSON.stringify(did));
