// The page's module: it asks the browser for push, and the API for everything
// else. After each change the page is drawn anew by the server, so that there is
// one place that says how things look.

const boot = JSON.parse(document.body.dataset.boot);
let device = boot.device;

// api calls the HTTP API. What goes wrong is thrown with a text for people.
async function api(method, path, body) {
  const request = { method, credentials: 'same-origin', headers: { Accept: 'application/json' } };
  if (body !== undefined) {
    request.headers['Content-Type'] = 'application/json';
    request.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch('/api/v1/' + path, request);
  } catch {
    throw new Error('The server does not answer. Try again.');
  }
  const value = answer.status === 204 ? null : await answer.json().catch(() => null);
  if (!answer.ok) {
    const error = new Error(describe(value, answer.status));
    error.status = answer.status;
    error.invite = (value?.errors || []).some((e) => e.location === 'body.invite');
    throw error;
  }
  return value;
}

function describe(problem, status) {
  if (!problem) return 'The server answered ' + status + '.';
  const details = (problem.errors || []).map((e) => e.message).join('; ');
  return [problem.detail || problem.title, details].filter(Boolean).join(': ');
}

function say(text, kind) {
  const message = document.getElementById('message');
  message.textContent = text;
  message.dataset.kind = kind || '';
}

function show(state) { document.body.dataset.state = state; }

// typed remembers what somebody is in the middle of typing, and returns a function
// that puts it back: the page may be drawn anew seconds after what asked for it.
function typed() {
  const inputs = [...document.querySelectorAll('#main input[id]')].filter((i) => i.value !== i.defaultValue || i.checked !== i.defaultChecked);
  const { id: focused, selectionStart: from, selectionEnd: to } = document.activeElement;
  return () => {
    for (const { id, value, checked } of inputs) {
      const input = document.getElementById(id);
      if (input) Object.assign(input, input.type === 'checkbox' ? { checked } : { value });
    }
    const input = focused && document.getElementById(focused);
    if (!input || input === document.activeElement) return;
    input.focus({ preventScroll: true });
    if (typeof from === 'number') input.setSelectionRange(from, to);
  };
}

// redraw takes the page from the server, in place.
async function redraw() {
  const answer = await fetch('/', { credentials: 'same-origin', cache: 'no-store' });
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const message = document.getElementById('message'), putBack = typed();
  document.getElementById('main').replaceWith(document.adoptNode(fresh.getElementById('main')));
  document.getElementById('message').replaceWith(message);
  putBack();
  Object.assign(boot, JSON.parse(fresh.body.dataset.boot));
  device = boot.device;
  localTimes();
  show(await pushState(fresh.body.dataset.state));
}

// pushState is the server's word for push, unless the browser has another.
async function pushState(state) {
  if (state === 'unavailable') return state;
  if (!('serviceWorker' in navigator) || !('PushManager' in window) || !('Notification' in window)) return 'unsupported';
  if (Notification.permission === 'denied') return 'denied';
  return state;
}

// times are shown in the visitor's zone.
function localTimes() {
  for (const t of document.querySelectorAll('time[datetime]')) {
    const at = new Date(t.dateTime);
    if (!isNaN(at)) t.textContent = at.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
  }
}

// nameHere is what to call this browser, until somebody gives it a better name.
function nameHere() {
  const ua = navigator.userAgent;
  const browser = [['Firefox/', 'Firefox'], ['Edg/', 'Edge'], ['Chrome/', 'Chrome'], ['Safari/', 'Safari']].find(([part]) => ua.includes(part));
  const system = [['Android', 'Android'], ['iPhone', 'iPhone'], ['iPad', 'iPad'], ['Windows', 'Windows'], ['Mac OS', 'Mac'], ['Linux', 'Linux']].find(([part]) => ua.includes(part));
  return (browser ? browser[1] : 'Browser') + (system ? ' on ' + system[1] : '');
}

// ensureDevice makes this browser a device. Where that takes an invite code, it
// comes with the address, as #invite=CODE, which no server and no log sees; or
// is asked for.
async function ensureDevice() {
  let invite = new URLSearchParams(location.hash.slice(1)).get('invite');
  while (!device) {
    try {
      device = await api('POST', 'devices', invite ? { name: nameHere(), invite } : { name: nameHere() });
    } catch (error) {
      if (!error.invite || !(invite = prompt('The invite code of this server:'))) throw error;
    }
  }
  return device;
}

export function bytesOf(base64url) {
  const text = atob(base64url.replace(/-/g, '+').replace(/_/g, '/'));
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

export function sameKey(buffer, base64url) {
  if (!buffer) return false;
  const a = new Uint8Array(buffer), b = bytesOf(base64url);
  return a.length === b.length && a.every((v, i) => v === b[i]);
}

// subscribe returns a subscription made with the server's present key. One that
// was made with another, or that the push service has ended, is dropped first.
async function subscribe(ended) {
  await navigator.serviceWorker.register('/sw.js');
  const manager = (await navigator.serviceWorker.ready).pushManager;
  let subscription = await manager.getSubscription();
  if (subscription && (ended || !sameKey(subscription.options.applicationServerKey, boot.key))) {
    await subscription.unsubscribe();
    subscription = null;
  }
  return subscription || manager.subscribe({ userVisibleOnly: true, applicationServerKey: bytesOf(boot.key) });
}

async function giveSubscription(ended) {
  const subscription = await subscribe(ended);
  try {
    device = await api('PUT', 'devices/self/subscription', { subscription: subscription.toJSON(), application_server_key: boot.key });
  } catch (error) {
    if (error.status !== 409 || ended) throw error; // the push service has ended it
    await giveSubscription(true);
  }
}

const actions = {
  async 'allow-push'() {
    const permission = await Notification.requestPermission();
    if (permission !== 'granted') {
      show(permission === 'denied' ? 'denied' : await pushState(device ? device.push.state : 'new'));
      return;
    }
    show('working');
    await ensureDevice();
    await giveSubscription(device.push.state === 'gone');
    say('This browser will be told.');
  },
  async 'stop-push'() {
    const registration = await navigator.serviceWorker.getRegistration('/');
    const subscription = registration && await registration.pushManager.getSubscription();
    await api('DELETE', 'devices/self/subscription');
    if (subscription) await subscription.unsubscribe();
    say('No more notifications here. What you watch stays.');
  },
  async 'test-push'() {
    const test = await api('POST', 'devices/self/test');
    say('The test is on its way.');
    await follow(test.id);
  },
  async 'add-watch'(form) {
    const data = new FormData(form);
    const amount = data.get('amount').trim().replace(',', '.'), currency = data.get('currency').trim().toUpperCase();
    if (amount && !currency) throw new Error('Name the currency, such as EUR.');
    await ensureDevice();
    const added = await api('POST', 'watches', {
      url: data.get('url').trim(), below: amount ? amount + ' ' + currency : '', back_in_stock: data.has('back_in_stock'),
      zone: Intl.DateTimeFormat().resolvedOptions().timeZone || '',
    });
    form.reset();
    const said = [...added.warnings, ...added.holding.map((h) => 'This holds already and will be told: ' + h)];
    say(['Watched: ' + added.name + (added.seen ? ' (' + added.seen + ')' : ''), ...said].join('. ') + '.');
  },
  async 'snooze'(at) { await api('POST', 'watches/' + watchOf(at) + '/snooze', { hours: 24 }); say('Silent for a day.'); },
  async 'unsnooze'(at) { await api('POST', 'watches/' + watchOf(at) + '/snooze', { hours: 0 }); say('You will be told again.'); },
  async 'stop-watch'(at) { await api('DELETE', 'watches/' + watchOf(at)); say('Watched no more.'); },
  async 'rename-device'(form) {
    await api('PATCH', 'devices/self', { name: new FormData(form).get('name').trim() });
    say('Renamed.');
  },
  async 'delete-device'() {
    if (!confirm('Forget this device, and remove what it watches?')) return;
    const registration = await navigator.serviceWorker?.getRegistration('/');
    await api('DELETE', 'devices/self');
    if (registration) await registration.unregister(); // its subscription goes with it
    say('Forgotten.');
  },
};

function watchOf(at) { return encodeURIComponent(at.closest('[data-watch]').dataset.watch); }

// follow shows what becomes of a test notification.
async function follow(id) {
  for (const wait of [300, 700, 1500, 2500, 5000]) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    const test = (await api('GET', 'devices/self')).test;
    if (!test || test.id !== id || !['sent', 'dropped', 'failed'].includes(test.state)) continue;
    const why = [test.reason, test.error].filter(Boolean).join(': ');
    say(test.state === 'sent' ? 'The push service has taken the test.' : 'The test was ' + test.state + (why ? ': ' + why : '') + '.', test.state === 'sent' ? '' : 'trouble');
    return;
  }
  say('The test still waits. The last line above says why, once there is something to say.');
}

async function act(element) {
  const button = element.tagName === 'FORM' ? element.querySelector('[type="submit"]') : element;
  button.disabled = true;
  try {
    await actions[element.dataset.action](element);
    await redraw();
  } catch (error) {
    say(error.message, 'trouble');
    show(await pushState(device ? device.push.state : 'new'));
  } finally {
    button.disabled = false;
  }
}

document.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-action]');
  if (button) act(button);
});
document.addEventListener('submit', (event) => {
  event.preventDefault();
  act(event.target);
});

// start brings what the browser has in line with what the server knows: after
// the server's key was changed, or the push service has dropped the subscription,
// the browser subscribes anew, which it may once it has been allowed.
async function start() {
  localTimes();
  const state = await pushState(document.body.dataset.state);
  show(state);
  if (!['active', 'gone'].includes(state) || Notification.permission !== 'granted') return;
  const before = JSON.stringify(device.push);
  try {
    await giveSubscription(state === 'gone');
    if (JSON.stringify(device.push) !== before) await redraw();
  } catch (error) {
    say('Notifications are not in order: ' + error.message, 'trouble');
  }
}

start();
