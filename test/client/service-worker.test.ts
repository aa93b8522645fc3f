// The service worker's functions outside of a browser: how it reads payloads, and when it tries again. They are run as a
// browser runs them, in a global scope of their own. What browsers make of the script is proved in test/browser/.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { IDBFactory, IDBKeyRange } from 'fake-indexeddb';
import * as fc from 'fast-check';
import { defaultTimeoutMs, hookTimeoutMs, storageTimeoutMs } from '../../src/client/time-limit.ts';
import { encodePayload } from '../../src/protocol/message/encode-payload.ts';

interface ReadMessage {
  readonly title: string;
  readonly message: string;
}

/** As far as the service worker uses the browser's class of this name: the bytes, decoded with a byte order mark kept as Chromium does. */
const pushMessageData = (bytes: Uint8Array) => ({
  text: () => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes),
});

const modules = [
  'database',
  'service-worker',
  'worker/receipts',
  'worker/renew',
  'worker/scope',
  'worker/show',
];
const { outputFiles } = await build({
  stdin: {
    contents: modules.map((path) => `export * from './${path}.ts';`).join(''),
    resolveDir: join(import.meta.dirname, '../../src/client'),
  },
  bundle: true,
  format: 'iife',
  globalName: 'parts',
  write: false,
});

/** Runs the modules in a global scope of their own, and returns what they export, and what the script does with events. */
function runScript(scope: Readonly<Record<string, unknown>>) {
  const handlers = new Map<string, (event: object) => void>();
  const self = {
    addEventListener: (type: string, handler: (event: object) => void) => void handlers.set(type, handler),
    location: { pathname: '/service-worker.js' },
    registration: scope['registration'],
  };
  const given = { clearTimeout, indexedDB: new IDBFactory(), ...scope };
  const context = createContext({ ...given, self, IDBKeyRange, URL, AbortSignal });
  runInContext(outputFiles[0]!.text, context);
  /** @returns what the browser waits for */
  const dispatch = async (type: string, event: object): Promise<void> => {
    const work: unknown[] = [];
    handlers.get(type)!({ ...event, waitUntil: (promise: unknown) => work.push(promise) });
    await Promise.all(work);
  };
  return { self, dispatch, ...context['parts'] };
}

const readPayload = runScript({})['readPayload'] as (
  data: ReturnType<typeof pushMessageData> | null,
) => ReadMessage;
const read = (payload: string | Uint8Array) =>
  readPayload(pushMessageData(typeof payload === 'string' ? new TextEncoder().encode(payload) : payload));

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

/** Payloads that are not `{"title": "…", "message": "…"}`, and what is to be shown for each. */
const unusualPayloads: readonly (readonly [payload: string | Uint8Array, title: string, body: string])[] = [
  ...[
    'plain text',
    '{broken',
    '',
    'x'.repeat(3900),
    '"a JSON string"',
    'null',
    '17',
    'true',
    '[1,{"title":"no"}]',
    nested(1900),
  ].map((text) => [text, 'New message', text] as const),
  [Uint8Array.of(0xff, 0xfe, 0x41), 'New message', '\uFFFD\uFFFDA'],
  ['{}', 'New message', ''],
  ['{"title":"Only a title"}', 'Only a title', ''],
  ['{"message":"only a message"}', 'New message', 'only a message'],
  ['{"title":null,"message":null}', 'New message', ''],
  ['{"title":"","message":"body"}', '', 'body'],
  ['{"title":"","message":" \\n"}', 'New message', ' \n'],
  ['{"title":1,"message":false}', '1', 'false'],
  ['{"title":{"toString":1},"message":{"valueOf":1}}', '{"toString":1}', '{"valueOf":1}'],
  ['{"title":[1,2],"message":[]}', '[1,2]', '[]'],
  ['{"title":{"toJSON":"x"}}', '{"toJSON":"x"}', ''],
  ['{"__proto__":{"title":"inherited"}}', 'New message', ''],
  ['\uFEFF{"title":"after a byte order mark"}', 'after a byte order mark', ''],
  ['{"title":"\\ud83d","message":"a\\udd14b"}', '\ud83d', 'a\udd14b'],
  [`{"title":"deep","extra":${nested(1900)}}`, 'deep', ''],
  [`{"title":${nested(1900)}}`, nested(1900), ''],
];

for (const [payload, title, body] of unusualPayloads) {
  test(`the payload ${payload.toString().slice(0, 50)} is read as "${title.slice(0, 50)}"`, () => {
    const result = read(payload);
    assert.deepEqual([result.title, result.message], [title, body]);
  });
}

test('a message without payload has the default title', () => {
  assert.equal(readPayload(null).title, 'New message');
});

const isReadable = ({ title, message }: ReadMessage): boolean =>
  typeof title === 'string' && typeof message === 'string' && (title + message).trim() !== '';

test('the declarative form is read as the message that it is', () => {
  const message = { title: 't', message: 'm', url: 'https://example.org/7', tag: 'x', data: { order: 7 } };
  const further = {
    actions: [{ title: 'Open' }, { title: 'Not any more', action: 'turn-off-channel' }],
    appBadge: 0,
    renotify: true,
    icon: 'https://example.org/i.png',
  };
  const given = { ...message, ...further, declarative: true };
  const payload = encodePayload(given, () => 'an-id', { channel: 'news' });
  assert.deepEqual(JSON.parse(JSON.stringify(read(payload))), {
    ...message,
    ...further,
    id: 'an-id',
    channel: 'news',
    requireInteraction: true,
    actions: [
      { title: 'Open', action: '0', url: message.url },
      { title: 'Not any more', action: 'turn-off-channel', url: message.url },
    ],
  });
});

test('a payload whose declarative form is none is read by its other members', () => {
  for (const form of [
    { web_push: 8030 },
    { web_push: 8030, notification: [] },
    { web_push: 1, notification: {} },
  ]) {
    assert.equal(read(JSON.stringify({ ...form, title: 'plain' })).title, 'plain');
  }
});

test('a notification that the browser has made of the declarative form is read in the place of a payload', () => {
  const notification = {
    title: 't',
    body: 'm',
    navigate: 'https://example.org/',
    icon: '',
    image: undefined,
    tag: 'x',
  };
  const message = runScript({})['readPush']({ data: null, notification, appBadge: 2 });
  const expected = { title: 't', message: 'm', url: 'https://example.org/', tag: 'x', appBadge: 2 };
  assert.deepEqual(JSON.parse(JSON.stringify(message)), expected);
});

test('a hook that takes too long, fails or returns no texts does not keep a message from being shown', async () => {
  const message = { title: 't', message: 'm', receivedAtMs: 1 };
  const errors: string[] = [];
  let isTimeOver = true;
  const scope = runScript({
    setTimeout: (end: () => void) => isTimeOver && end(),
    clearTimeout: () => undefined,
    console: { error: (...parts: unknown[]) => errors.push(parts.join(' ')) },
  });
  const show = async (beforeShow: () => unknown) => {
    scope['self'].deskbell = { beforeShow };
    return JSON.parse(JSON.stringify(await scope['callBeforeShow'](message)));
  };
  assert.deepEqual(await show(() => new Promise(() => {})), message);
  assert.match(errors.join(), /beforeShow failed.*No result within 10000 ms/);
  isTimeOver = false;
  assert.deepEqual(
    await show(() => {
      throw new Error('broken');
    }),
    message,
  );
  assert.match(errors.join(), /beforeShow failed.*broken/);
  assert.deepEqual(await show(() => ({ title: 7, message: null })), { ...message, title: '7', message: '' });
});

test('any bytes are read as a title and a text with something to show', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 4096 }), (bytes) => isReadable(read(bytes))));
});

test('any JSON is read so, with any values of title and message', () => {
  const lengths = { maxLength: 100 };
  const values = fc.jsonValue();
  fc.assert(
    fc.property(
      fc.oneof(
        values,
        fc.record({ title: values, message: values }),
        fc.string({ unit: 'binary', ...lengths }),
      ),
      (value) => isReadable(read(JSON.stringify(value))),
    ),
  );
});

test('a click opens http(s) only, absolute or relative to the page', () => {
  const scope = runScript({});
  const toLink = (url: unknown): unknown => scope['toUrl'](url, 'https://example.org/app/', /^https?:/);
  assert.equal(toLink('orders/7'), 'https://example.org/app/orders/7');
  assert.equal(toLink('http://other.example/'), 'http://other.example/');
  for (const url of ['javascript:alert(1)', 'data:text/html,x', 'https://', 7, null, undefined]) {
    assert.equal(toLink(url), undefined);
  }
});

test('the badge is set where the browser has that, and nothing is said where it fails', async () => {
  const counts: number[] = [];
  const setAppBadge = async (count: number): Promise<void> => {
    counts.push(count);
    throw new Error('not installed');
  };
  const withBadge = runScript({ navigator: { setAppBadge } });
  for (const count of [undefined, 3, 0]) await withBadge['showBadge'](count);
  assert.deepEqual(counts, [3, 0]);
  await runScript({ navigator: {} })['showBadge'](3);
});

const limitsMs = new Set([storageTimeoutMs, hookTimeoutMs, defaultTimeoutMs]);

/** A scope whose waiting times are over at once, but those of the storage, of hooks and of the service, which answer. */
const endAtOnce = (end: () => void, delayMs: number) => {
  if (!limitsMs.has(delayMs)) end();
};

const locks = { request: (_name: string, work: () => unknown) => work() };

/** A scope where a page has subscribed, and the service answers 500 since. */
async function startRenewing(state: Readonly<Record<string, string>>) {
  const waitedMs: number[] = [];
  const errors: string[] = [];
  const syncs: string[] = [];
  const scope = runScript({
    registration: {
      scope: 'https://example.org/',
      sync: { register: async (tag: string) => void syncs.push(tag) },
    },
    navigator: { locks },
    Notification: { permission: 'granted' },
    btoa,
    fetch: async () => new Response('', { status: 500 }),
    setTimeout(end: () => void, delayMs: number) {
      if (!limitsMs.has(delayMs)) waitedMs.push(delayMs);
      endAtOnce(end, delayMs);
    },
    console: { error: (...parts: unknown[]) => errors.push(parts.join(' ')) },
  });
  await scope['updateOwnState'](state);
  return { scope, waitedMs, errors, syncs };
}

const serviceUrl = 'https://example.org/push/';

test('a subscription that cannot be renewed is reported, tried again after 2, 8 and 20 s, then left to Background Sync', async () => {
  const { scope, waitedMs, errors, syncs } = await startRenewing({ serviceUrl, storedBody: '{}' });

  await scope['renewWithRetries'](null);

  assert.deepEqual(waitedMs, [2000, 8000, 20_000]);
  assert.deepEqual(syncs, ['deskbell']);
  const words = /could not be subscribed anew.*GET https:\/\/example\.org\/push\/vapidKey answered 500/;
  assert.equal(errors.filter((error) => words.test(error)).length, 4);
  assert.equal((await scope['readOwnState']()).storedBody, '{}', 'the next page load tries again');
});

test('a subscription that was never stored is known by its former form', async () => {
  const { scope } = await startRenewing({ serviceUrl });
  const former = { endpoint: 'https://push.example/1', getKey: () => new Uint8Array([1]).buffer };
  await scope['renewWithRetries'](former);
  const { storedBody } = await scope['readOwnState']();
  assert.deepEqual(JSON.parse(storedBody), { endpoint: former.endpoint, p256dh: 'AQ==', auth: 'AQ==' });
  const known = await startRenewing({ serviceUrl, storedBody: '{"endpoint":"https://push.example/0"}' });
  await known.scope['renewWithRetries'](former);
  const state = await known.scope['readOwnState']();
  assert.match(state.storedBody, /example\/0/, 'what the service has is named');
});

test('who has unsubscribed, or was subscribed without the page library, is left alone', async () => {
  for (const state of [{ serviceUrl }, { storedBody: '{}' }, {}]) {
    const { scope, errors, waitedMs } = await startRenewing(state as Record<string, string>);
    await scope['renewWithRetries'](null);
    assert.deepEqual([errors, waitedMs], [[], []]);
  }
});

/** One after the other, as a browser has it. */
function createLocks(): typeof locks {
  let last: Promise<unknown> = Promise.resolve();
  return { request: (_name, work) => (last = last.catch(() => undefined).then(work)) };
}

/** A scope that keeps what is to be reported, and a service that gives these answers; without one it is away. */
async function startReporting(
  answers: number[],
  setTimeout: typeof endAtOnce = endAtOnce,
  { registrationScope = 'https://example.org/app/', indexedDB = new IDBFactory() } = {},
) {
  const bodies: { readonly receipts: readonly object[] }[] = [];
  const syncs: string[] = [];
  const shown: { readonly tag: string }[] = [];
  const scope = runScript({
    indexedDB,
    registration: {
      scope: registrationScope,
      getNotifications: async ({ tag }: { tag: string }) => shown.filter((one) => one.tag === tag),
      sync: {
        async register(tag: string) {
          syncs.push(tag);
          throw new Error('not allowed');
        },
      },
    },
    navigator: { locks: createLocks() },
    async fetch(url: URL, { body, ...options }: RequestInit) {
      assert.equal(url.href, `${serviceUrl}webPush/receipts`);
      assert.equal(options.keepalive, true);
      assert.equal(options.credentials, 'same-origin');
      assert.ok(options.signal, 'so that no other report waits without end');
      bodies.push(JSON.parse(String(body)));
      const status = answers.shift();
      if (status === undefined) throw new TypeError('Failed to fetch');
      return { status };
    },
    setTimeout,
  });
  scope['self'].clients = { matchAll: async () => [], openWindow: async () => null };
  await scope['updateOwnState']({ serviceUrl });
  const report = (receipt: unknown, event: string, action?: string) =>
    scope['report']({ title: 't', message: 'm', receivedAtMs: 1, receipt }, event, action);
  /** How many are still to be reported; the state is one entry more. */
  const countKept = async (): Promise<number> =>
    (await scope['inStore']('readonly', (store: { count(): unknown }) => scope['resultOf'](store.count()))) -
    1;
  return { countKept, bodies, syncs, shown, report, dispatch: scope.dispatch };
}

const vapidKey = Buffer.alloc(65, 4).toString('base64url');

/** A scope whose page is subscribed, at a service that gives these answers to what is asked of channels; without one it is away. */
async function startChoosing(answers: number[], beforeAnswer?: () => Promise<void>) {
  const asked: string[] = [];
  const bodies: unknown[] = [];
  const syncs: string[] = [];
  const subscription = {
    endpoint: 'https://push.example/1',
    getKey: () => new Uint8Array([1]).buffer,
    options: { applicationServerKey: new Uint8Array(65).fill(4).buffer },
  };
  const proof = { endpoint: subscription.endpoint, p256dh: 'AQ==', auth: 'AQ==' };
  const scope = runScript({
    registration: {
      scope: 'https://example.org/',
      pushManager: { getSubscription: async () => subscription },
      sync: { register: async (tag: string) => void syncs.push(tag) },
    },
    navigator: { locks, language: 'de' },
    Notification: { permission: 'granted' },
    btoa,
    async fetch({ pathname }: URL, { body }: RequestInit) {
      asked.push(pathname);
      if (pathname === '/push/vapidKey') return Response.json(vapidKey);
      if (pathname === '/push/webPush') return Response.json('Subscription received.');
      assert.equal(pathname, '/push/webPush/channels');
      bodies.push(JSON.parse(String(body)));
      await beforeAnswer?.();
      const status = answers.shift();
      if (status === undefined) throw new TypeError('Failed to fetch');
      return Response.json([], { status });
    },
    setTimeout: endAtOnce,
    console: { error: () => undefined },
  });
  await scope['updateOwnState']({ serviceUrl, storedBody: JSON.stringify(proof) });
  const waiting = async (): Promise<unknown> => {
    const { choices } = await scope['readOwnState']();
    return choices && JSON.parse(JSON.stringify(choices));
  };
  return { scope, proof, asked, bodies, syncs, waiting };
}

test('an action turns its channel off with the stored subscription', async () => {
  const { scope, proof, asked, bodies, waiting } = await startChoosing([200]);
  await scope['turnOff']('news');
  const paths = ['/push/vapidKey', '/push/webPush', '/push/webPush/channels'];
  assert.deepEqual(asked, paths, 'in case that the service has lost it');
  assert.deepEqual(bodies, [{ ...proof, choices: { news: false } }]);
  assert.equal(await waiting(), undefined);
});

test('a click is for the site’s hook first; what it leaves turns a channel off, opens a page, or focuses it', async () => {
  const { scope, bodies } = await startChoosing([200]);
  const opened: string[] = [];
  const pages: object[] = [];
  scope['self'].clients = {
    matchAll: async () => pages,
    openWindow: async (url: string) => void opened.push(url),
  };
  await scope['updateOwnState']({ pageUrl: 'https://example.org/app/page.html' });
  const click = (message: object, action: string, onClick?: () => unknown) => {
    scope['self'].deskbell = { onClick };
    const data = { deskbell: { title: 't', message: 'm', channel: 'news', ...message } };
    return scope.dispatch('notificationclick', { action, notification: { data, close: () => undefined } });
  };
  await click({ url: 'orders/7' }, 'turn-off-channel', () => true);
  await click({ url: 'orders/7' }, '', async () => true);
  assert.deepEqual([bodies.length, opened], [0, []]);
  await click({ url: 'orders/7' }, 'turn-off-channel', () => false);
  assert.deepEqual([bodies.length, opened], [1, []]);
  await click({ url: 'orders/7' }, '', () => {
    throw new Error('broken');
  });
  await click({ actions: [{ title: 'Read', action: 'read', url: '/read' }] }, 'read');
  await click({}, '');
  assert.deepEqual(opened, [
    'https://example.org/app/orders/7',
    'https://example.org/read',
    'https://example.org/',
  ]);
  assert.equal(bodies.length, 1);
  for (const path of ['app/page.html', 'app/orders/7']) {
    const url = `https://example.org/${path}`;
    pages.push({ url, focus: async () => void opened.push(`${path} in front`) });
  }
  await click({ url: 'orders/7' }, '');
  await click({}, '');
  assert.deepEqual(opened.slice(3), ['app/orders/7 in front', 'app/page.html in front']);
});

test('what cannot be turned off now is kept, tried again, and sent with what is turned off later', async () => {
  const { scope, bodies, syncs, waiting } = await startChoosing([]);
  await scope['turnOff']('news');
  assert.equal(bodies.length, 4, 'at once, and after 2, 8 and 20 s');
  assert.deepEqual(syncs, ['deskbell']);
  assert.deepEqual(await waiting(), { news: false });
  await scope['turnOff']('offers');
  assert.deepEqual(await waiting(), { news: false, offers: false });
});

test('Background Sync turns off what was kept; what the service refuses is given up, what it cannot take now is kept', async () => {
  const choices = { news: false };
  for (const status of [200, 400, 404, 429, 503]) {
    const { scope, proof, bodies, waiting } = await startChoosing([status]);
    await scope['updateOwnState']({ choices });
    const isTaken = await scope.dispatch('sync', { tag: 'deskbell' }).then(
      () => true,
      () => false,
    );
    assert.deepEqual(bodies, [{ ...proof, choices }]);
    assert.deepEqual(await waiting(), isTaken ? undefined : choices);
    assert.equal(isTaken, ![429, 503].includes(status), `${status}`);
  }
});

test('what is turned off while another choice is on its way is kept, and sent', async () => {
  const offers = Promise.withResolvers<void>();
  const { scope, proof, bodies, waiting } = await startChoosing([200, 200], async () => {
    if (bodies.length > 1) return;
    offers.resolve(scope['turnOff']('offers'));
    while (Object.keys((await waiting()) as object).length < 2) await new Promise(setImmediate);
  });
  await scope['turnOff']('news');
  await offers.promise;
  assert.deepEqual(bodies, [
    { ...proof, choices: { news: false } },
    { ...proof, choices: { offers: false } },
  ]);
  assert.equal(await waiting(), undefined);
});

const token = 'A'.repeat(38);

test('what comes within a second is reported together', async () => {
  const waiting: (() => void)[] = [];
  const bothWait = Promise.withResolvers<void>();
  const { countKept, bodies, report } = await startReporting([204], (end, delayMs) => {
    if (delayMs !== 1000) return endAtOnce(end, delayMs);
    if (waiting.push(end) === 2) bothWait.resolve();
  });
  const reports = Promise.all(['shown', 'clicked'].map((event) => report(token, event)));
  await Promise.race([bothWait.promise, reports]);
  assert.equal(bodies.length, 0);
  assert.equal(await countKept(), 2, 'kept before they are sent: the browser may stop the worker meanwhile');
  for (const end of waiting) end();
  await reports;
  assert.deepEqual(
    bodies.map(({ receipts }) => receipts.length),
    [2],
  );
});

test('a message without a token, or with a member of this name that is none, reports nothing', async () => {
  const { bodies, report } = await startReporting([]);
  for (const receipt of [undefined, null, 7, {}, 'short', `${token}A`, `${'A'.repeat(37)}*`]) {
    await report(receipt, 'shown');
  }
  assert.deepEqual(bodies, []);
});

test('a message that alerts again alerts unless it is on the screen itself, whatever else has its tag', async () => {
  const onScreen: { readonly data: { readonly deskbell: { readonly id?: string } } }[] = [];
  const alerts: unknown[] = [];
  const scope = runScript({
    registration: {
      scope: 'https://example.org/',
      getNotifications: async () => onScreen,
      showNotification: async (_title: string, { renotify }: { renotify: boolean }) => {
        alerts.push(renotify);
      },
    },
    navigator: { locks },
  });
  scope['self'].clients = { matchAll: async () => [] };
  const receive = (id: string) =>
    scope['receive']({ title: 't', message: 'm', receivedAtMs: 1, renotify: true, id });
  await receive('one');
  onScreen.push({ data: { deskbell: {} } });
  await receive('one');
  onScreen.push({ data: { deskbell: { id: 'one' } } });
  await receive('one');
  await receive('two');
  assert.deepEqual(alerts, [true, true, false, true]);
});

test('a notification is shown first, and reported then, unless the site’s hook removes the token', async () => {
  const events: string[] = [];
  let shown: { readonly receipt?: string } = {};
  const scope = runScript({
    registration: {
      scope: 'https://example.org/',
      async showNotification(title: string, { data }: { data: { deskbell: typeof shown } }) {
        if (title === 'nested' && 'actions' in data.deskbell) throw new Error('It cannot be kept.');
        events.push(`shown: ${title}`);
        shown = data.deskbell;
      },
    },
    navigator: { locks },
    async fetch(_url: URL, { body }: RequestInit) {
      const { receipts } = JSON.parse(String(body)) as { receipts: { readonly event: string }[] };
      events.push(`reported: ${receipts.map(({ event }) => event).join()}`);
      return { status: 204 };
    },
    setTimeout: endAtOnce,
    console: { error: () => undefined },
  });
  scope['self'].clients = { matchAll: async () => [] };
  await scope['updateOwnState']({ serviceUrl });
  await scope['receive']({ title: 't', message: 'm', receivedAtMs: 1, receipt: token });
  assert.deepEqual(events, ['shown: t', 'reported: shown']);
  assert.equal(shown.receipt, token, 'for what becomes of it');

  await scope['receive']({ title: 'nested', message: 'm', receivedAtMs: 1, receipt: token, actions: [] });
  assert.deepEqual(events.splice(2), ['shown: nested', 'reported: shown']);
  assert.equal(shown.receipt, token, 'also where the browser cannot keep all of the message');

  scope['self'].deskbell = { beforeShow: () => ({ receipt: undefined }) };
  await scope['receive']({ title: 'u', message: 'm', receivedAtMs: 1, receipt: token });
  assert.deepEqual(events.splice(2), ['shown: u'], 'the hook wants no report');
  assert.equal(shown.receipt, undefined);
  await scope['receive']({ title: 'nested', message: 'm', receivedAtMs: 1, receipt: token, actions: [] });
  assert.deepEqual([events.slice(2), shown.receipt], [['shown: nested'], undefined]);
});

test('the last notifications are kept, newest first, with an absolute URL, each once; a click marks one as read', async () => {
  const own = 'https://example.org/';
  const scope = runScript({
    registration: {
      scope: own,
      showNotification: async () => undefined,
      getNotifications: async () => [],
    },
    navigator: { locks },
    setTimeout: () => undefined,
    console,
  });
  const opened: string[] = [];
  scope['self'].clients = {
    matchAll: async () => [],
    openWindow: async (url: string) => void opened.push(url),
  };
  const arrive = (receivedAtMs: number, members: object = {}) =>
    scope['receive']({ title: `${receivedAtMs}`, message: '', receivedAtMs, ...members });
  const kept = async (): Promise<string[]> =>
    (await scope['readHistory'](own)).map(
      ({ title, url, isRead }: Record<string, unknown>) => `${title} ${url} ${isRead}`,
    );
  await scope['updateOwnState']({ pageUrl: `${own}shop/page`, historyLimit: 3 });

  await arrive(1);
  await arrive(2, { url: 'order/7' });
  await arrive(3, { url: 'javascript:alert()', id: 'once' });
  await arrive(3, { id: 'once' });
  assert.deepEqual(await kept(), ['3 undefined false', `2 ${own}shop/order/7 false`, '1 undefined false']);
  await arrive(4);
  const deskbell = { title: '2', message: '', receivedAtMs: 2 };
  await scope.dispatch('notificationclick', { notification: { data: { deskbell }, close() {} }, action: '' });
  assert.deepEqual(await kept(), ['4 undefined false', '3 undefined false', `2 ${own}shop/order/7 true`]);

  await scope['updateOwnState']({ historyLimit: undefined });
  for (let count = 5; count <= 110; count += 1) await arrive(count);
  assert.equal((await kept()).length, 100, 'by default');
  assert.equal((await kept())[99], '11 undefined false');
  await scope['updateOwnState']({ historyLimit: 0 });
  await arrive(111);
  assert.deepEqual(await kept(), []);
});

test('what the service did not take is kept and reported with the next; nothing fails for it', async () => {
  const indexedDB = new IDBFactory();
  const { countKept, bodies, syncs, report } = await startReporting([429, 500], endAtOnce, { indexedDB });
  await report(token, 'shown');
  await report(token, 'clicked');
  await report(token, 'dismissed');
  assert.deepEqual(
    bodies.map(({ receipts }) => receipts.length),
    [1, 2, 3],
  );
  assert.equal(await countKept(), 3);
  assert.deepEqual(syncs, ['deskbell-receipts', 'deskbell-receipts', 'deskbell-receipts']);
  const registrationScope = 'https://example.org/other/';
  const other = await startReporting([204], endAtOnce, { indexedDB, registrationScope });
  await other.report(token, 'clicked', 'open');
  const own = { receipts: [{ token, event: 'clicked', action: 'open' }] };
  assert.deepEqual(other.bodies, [own], 'another registration reports its own to its own service');
});

test('Background Sync reports what is kept, and is tried again where the service does not take it', async () => {
  const { countKept, bodies, report, dispatch } = await startReporting([503, 503, 204]);
  await report(token, 'shown');
  await dispatch('sync', { tag: 'another' });
  assert.equal(bodies.length, 1);
  await assert.rejects(dispatch('sync', { tag: 'deskbell-receipts' }));
  assert.equal(await countKept(), 1);
  await dispatch('sync', { tag: 'deskbell-receipts' });
  assert.deepEqual(bodies[2], { receipts: [{ token, event: 'shown' }] });
  assert.equal(await countKept(), 0);
});

test('a notification that is closed is dismissed, unless it was clicked or another one has taken its place', async () => {
  const { bodies, syncs, shown, dispatch } = await startReporting([204, 204, 204]);
  const [onAction, clicked, replaced, dismissed] = ['A', 'C', 'R', 'D'].map((letter) => ({
    tag: letter,
    data: { deskbell: { title: 't', message: 'm', receipt: letter.repeat(38) } },
    close: () => undefined,
  }));
  await dispatch('notificationclick', { notification: onAction, action: 'open' });
  await dispatch('notificationclick', { notification: clicked, action: '' });
  await dispatch('notificationclose', { notification: clicked });
  shown.push({ tag: 'R' });
  await dispatch('notificationclose', { notification: replaced });
  await dispatch('notificationclose', { notification: dismissed });
  assert.deepEqual(
    bodies.flatMap(({ receipts }) => receipts),
    [
      { token: 'A'.repeat(38), event: 'clicked', action: 'open' },
      { token: 'C'.repeat(38), event: 'clicked' },
      { token: 'D'.repeat(38), event: 'dismissed' },
    ],
  );
  assert.deepEqual(syncs, []);
});

test('what the service never takes is not reported again; what a login page in front of it answered is', async () => {
  for (const [status, kept] of [
    [400, 0],
    [404, 0],
    [413, 0],
    [200, 1],
  ] as const) {
    const { countKept, bodies, report } = await startReporting([status]);
    await report(token, 'shown');
    assert.deepEqual([bodies.length, await countKept()], [1, kept], `${status}`);
  }
});

test('so many are reported at once that the service takes them', async () => {
  const { bodies, report, countKept } = await startReporting([
    ...Array.from({ length: 120 }, () => 503),
    204,
  ]);
  for (let index = 0; index < 121; index += 1) await report(token, 'clicked', `action-${index}`);
  assert.equal(bodies.at(-1)?.receipts.length, 50);
  assert.equal(await countKept(), 71);
});
