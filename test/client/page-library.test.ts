// The page library outside of a browser: how long it waits, what it asks the service, and what each failure is called. What
// browsers make of it is proved in test/browser/.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { IDBFactory, IDBKeyRange } from 'fake-indexeddb';
import { lateRegistrationMs, storageTimeoutMs } from '../../src/client/time-limit.ts';
import { until } from '../../tools/until.ts';

const entry = '../../src/client/index.ts';
const { outputFiles } = await build({
  entryPoints: [join(import.meta.dirname, entry)],
  bundle: true,
  format: 'iife',
  globalName: 'library',
  write: false,
});

const ownPageUrl = 'https://example.org/app/page.html?visit=1';
const vapidKey = Buffer.alloc(65, 4).toString('base64url');

interface Asked {
  readonly request: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** As far as it is used here: its own types need those of a browser. */
interface Client extends EventTarget {
  readonly synced: Promise<string>;
  subscribe(options?: { readonly invitation?: string }): Promise<{ readonly endpoint: string }>;
  unsubscribe(): Promise<void>;
  signOut(): Promise<void>;
  resync(): Promise<string>;
  state(): Promise<{
    readonly obstacle: string | undefined;
    readonly permission: string;
    readonly subscription: { readonly endpoint: string } | undefined;
    readonly isStored: boolean;
  }>;
  history(): Promise<readonly { readonly title: string; readonly isRead: boolean }[]>;
  markRead(): Promise<void>;
  channels(): Promise<readonly { readonly isOn: boolean }[]>;
  setChannels(choices: object): Promise<readonly { readonly isOn: boolean }[]>;
  messages(): AsyncIterableIterator<{ readonly title: string }>;
}

interface PushSubscriptionOfPage {
  unsubscribe(): Promise<void>;
}

/** What a browser has beside a page. */
interface Browser {
  readonly pageUrl?: string;
  /** Subscriptions that its push service has made before. */
  readonly made?: number;
  /** It does not answer, and Chromium waits without end. */
  readonly isPushServiceAway?: boolean;
  /** Name of the error with which the browser refuses to subscribe. */
  readonly refusal?: string;
  /** What that error says, and how long after it was asked, in milliseconds. */
  readonly refusalWords?: string;
  readonly refusalAfterMs?: number;
  readonly isOffline?: boolean;
  readonly isBrave?: boolean;
  readonly permission?: 'granted' | 'denied' | 'default';
  /** What the question is answered with. */
  readonly answer?: 'granted' | 'denied' | 'default';
  readonly isSecureContext?: boolean;
  readonly lacks?: 'PushManager' | 'Notification' | 'serviceWorker';
  readonly isHomeScreenApp?: boolean;
  /** The page is a frame that is sandboxed. */
  readonly isSandboxed?: boolean;
  /** Its settings forbid the site to keep anything. */
  readonly isBlocked?: () => boolean;
  /** None is there at first, and no script that could be registered; the site registers its own then, or does not. */
  readonly registers?: 'late' | 'never';
  /** Called when a registration is waited for without end. */
  readonly onRegistering?: () => void;
  /** Called when the installation of its service worker is waited for without end. */
  readonly onInstalling?: () => void;
  /** Waits that are over at once; all others last. */
  readonly overMs?: readonly number[];
  /** Status and JSON of the service's answer to a request such as `POST webPush`; with the status 0 it is away. */
  readonly service?: (request: string, body: Asked['body']) => readonly [status: number, answer: unknown];
}

/** One after the other, as a browser has it. */
function createLocks(refuse: () => void) {
  let last: Promise<unknown> = Promise.resolve();
  const request = (_name: string, work: () => unknown) =>
    (last = last
      .catch(() => undefined)
      .then(refuse)
      .then(work));
  return { request };
}

/** Opens a page whose script makes a client with these options. */
function openPage(options: object = {}, browser: Browser = {}, indexedDB = new IDBFactory()) {
  const { pageUrl = ownPageUrl, permission = 'granted', answer = permission, overMs = [], service } = browser;
  const asked: Asked[] = [];
  const waitedMs: number[] = [];
  const limitsMs: number[] = [];
  const errors: string[] = [];
  const ended: string[] = [];
  const listeners: ((event: object) => void)[] = [];
  let { made = 0 } = browser;
  let isPushServiceAsked = false;
  let nowMs = 0;
  let subscription: object | undefined;
  const pushManager = {
    getSubscription: async () => subscription ?? null,
    async subscribe() {
      isPushServiceAsked = true;
      if (browser.isPushServiceAway) await new Promise(() => {});
      await Promise.resolve();
      nowMs += browser.refusalAfterMs ?? 0;
      if (browser.refusal) throw new DOMException(browser.refusalWords ?? 'It is refused.', browser.refusal);
      made += 1;
      // in the other alphabet of base64, the first character would be another one
      const key = new Uint8Array([0xfb, made]).buffer;
      const endpoint = `https://push.example/${made}`;
      subscription = {
        endpoint,
        getKey: () => key,
        options: { applicationServerKey: new Uint8Array(65).fill(4).buffer },
        async unsubscribe() {
          ended.push(endpoint);
          subscription = undefined;
        },
      };
      return subscription;
    },
  };
  const worker = {
    scriptURL: 'https://example.org/app/service-worker.js',
    state: 'activated',
    postMessage: (_question: object, [port]: [MessagePort]) => port.postMessage(true),
    addEventListener: () => browser.onInstalling?.(),
  };
  const registration = {
    scope: 'https://example.org/app/',
    ...(browser.onInstalling ? { installing: { ...worker, state: 'installing' } } : { active: worker }),
    pushManager,
    addEventListener() {},
  };
  const found = browser.registers ? undefined : registration;
  const refuse = (): void => {
    if (browser.isBlocked?.()) throw new DOMException('The user denied permission.', 'NotSupportedError');
  };
  const serviceWorker = {
    addEventListener: (_type: string, listener: (event: object) => void) => void listeners.push(listener),
    startMessages() {},
    async getRegistration() {
      refuse();
      return found;
    },
    async getRegistrations() {
      refuse();
      return found ? [found] : [];
    },
    register: async () => {
      browser.onRegistering?.();
      if (browser.onRegistering) await new Promise(() => {});
      throw new TypeError('There is no script.');
    },
    ready: browser.registers === 'late' ? Promise.resolve(registration) : new Promise(() => {}),
  };
  const fetch = async (url: URL, { method = 'GET', headers, body }: RequestInit = {}) => {
    const [path = ''] = url.href.replace('https://example.org/app/', '').split('?');
    const request = `${method} ${path}`;
    const json = JSON.parse(String(body ?? '{}')) as Asked['body'];
    asked.push({
      request: url.search ? `${request}?…` : request,
      headers: { ...(headers as object) },
      body: json,
    });
    const [status, answered] = service?.(request, json) ?? [200, path === 'vapidKey' ? vapidKey : ''];
    if (status === 0) throw new TypeError('Failed to fetch');
    if (typeof answered === 'object' && answered !== null && 'html' in answered)
      return new Response(String(answered.html), { status, headers: { 'content-type': 'text/html' } });
    if (answered === breakingOff)
      return new Response(
        new ReadableStream({ start: (stream) => stream.error(new TypeError('Failed to fetch')) }),
      );
    if (/DELETE|unsubscribe|sign-out/.test(request) && status === 200)
      return new Response(null, { status: 204 });
    return Response.json(answered, { status });
  };
  const parts = { PushManager: {}, Notification: { permission, requestPermission: async () => answer } };
  const window = Object.fromEntries(Object.entries(parts).filter(([name]) => name !== browser.lacks));
  const context = createContext({
    ...window,
    window,
    isSecureContext: browser.isSecureContext ?? true,
    ...(browser.isSandboxed && { origin: 'null' }),
    document: { baseURI: pageUrl },
    location: new URL(pageUrl),
    navigator: {
      ...(browser.lacks !== 'serviceWorker' && { serviceWorker }),
      ...(browser.isBrave && { brave: {} }),
      onLine: !browser.isOffline,
      language: 'de',
      locks: createLocks(refuse),
      ...(browser.isHomeScreenApp !== undefined && { standalone: browser.isHomeScreenApp }),
    },
    indexedDB,
    IDBKeyRange,
    Date: { now: () => nowMs },
    Event,
    fetch,
    AbortSignal: { timeout: (ms: number) => void limitsMs.push(ms) },
    setTimeout(end: () => void, delayMs: number) {
      if (delayMs !== storageTimeoutMs) waitedMs.push(delayMs);
      if (overMs.includes(delayMs) && (isPushServiceAsked || !browser.isPushServiceAway)) end();
    },
    clearTimeout() {},
    console: { error: (...words: unknown[]) => errors.push(words.join(' ')) },
    EventTarget,
    MessageEvent,
    MessageChannel,
    ReadableStream,
    AbortController,
    URL,
    btoa,
  });
  runInContext(outputFiles[0]!.text, context);
  const create = context['library'].createClient as (given: object) => Client;
  const client = create(options);
  const arrive = (deskbell: object, scope = registration.scope) => {
    for (const listener of listeners) listener({ data: { deskbell, scope } });
  };
  return { client, create, asked, waitedMs, limitsMs, errors, ended, indexedDB, arrive };
}

/** The first subscription that a push service makes, as the service gets it. */
const firstSubscription = { endpoint: 'https://push.example/1', p256dh: '+wE=', auth: '+wE=' };

/** An answer whose connection ends after its head. */
const breakingOff = Symbol('breaking off');

const withoutChannels: Browser['service'] = (request) => [
  200,
  request === 'POST webPush/channels' ? [] : vapidKey,
];

/** What the browser keeps, as its service worker changes it. */
async function openStore(indexedDB: InstanceType<typeof IDBFactory>) {
  const opening = indexedDB.open('deskbell', 1);
  await once(opening, 'success');
  return opening.result.transaction('deskbell', 'readwrite').objectStore('deskbell');
}

/** @returns what was kept for the registration before */
async function change(
  indexedDB: InstanceType<typeof IDBFactory>,
  changes: object,
): Promise<Readonly<Record<string, unknown>>> {
  const store = await openStore(indexedDB);
  const key = ['https://example.org/app/', 'state'];
  const reading = store.get(key);
  await once(reading, 'success');
  await once(store.put({ ...(reading.result as object), ...changes }, key), 'success');
  return reading.result as Readonly<Record<string, unknown>>;
}

const once = (target: EventTarget, type: string): Promise<unknown> =>
  new Promise((resolve) => {
    target.addEventListener(type, resolve, { once: true });
  });

const failureOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    ({ reason, message }: { readonly reason: string; readonly message: string }) => `${reason}: ${message}`,
  );
const reasonOf = async (work: Promise<unknown>): Promise<string> => (await failureOf(work)).split(':')[0]!;
const requestsOf = (asked: readonly Asked[]) => asked.map(({ request }) => request);

test('service and push service have 15 seconds each to answer, or what timeoutMs says', async () => {
  for (const [options, limitMs] of [
    [{}, 15_000],
    [{ timeoutMs: 7000 }, 7000],
  ] as const) {
    const { client, limitsMs, waitedMs } = openPage(options);
    await client.subscribe();
    assert.deepEqual(limitsMs, [limitMs, limitMs], 'for the key, and to store the subscription');
    assert.deepEqual(new Set(waitedMs), new Set([limitMs]));
    const waiting = openPage(options, { isPushServiceAway: true, overMs: [limitMs] });
    assert.equal(await reasonOf(waiting.client.subscribe()), 'push-service-unreachable');
  }
});

test('the option fetch takes the place of the browser’s, and an option that is unknown is named', async () => {
  const urls: string[] = [];
  const fetch = async (url: URL) => {
    urls.push(url.pathname);
    return Response.json(url.pathname.endsWith('vapidKey') ? vapidKey : '');
  };
  const { client, create, asked } = openPage({ fetch, serviceUrl: '/push' });
  await client.subscribe();
  assert.deepEqual([urls, asked], [['/push/vapidKey', '/push/webPush'], []]);
  assert.throws(() => create({ url: '/push/' }), /"url" is unknown; there are serviceUrl, /);
});

test('the service gets subscription, language and time zone, and is asked for its key with a new query', async () => {
  const { client, asked } = openPage();
  await client.subscribe({ invitation: 'abc' });
  await client.resync();
  const names = ['GET vapidKey?…', 'POST webPush'];
  assert.deepEqual(requestsOf(asked), [...names, ...names]);
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const body = { ...firstSubscription, language: 'de', timeZone };
  const headers = { 'content-type': 'application/json', 'deskbell-vapid-key': vapidKey };
  assert.deepEqual(asked[1], {
    request: 'POST webPush',
    headers: { ...headers, 'deskbell-invitation': 'abc' },
    body,
  });
  assert.deepEqual(asked[3], { request: 'POST webPush', headers, body }, 'an invitation is used once');
});

test('a subscription names the last one that was stored, while the service is away and once it may have been restored', async () => {
  let status = 200;
  const { client, asked } = openPage(
    {},
    { service: (request) => [request === 'POST webPush' ? status : 200, vapidKey] },
  );
  const renew = async (): Promise<void> => {
    const { subscription } = await client.state();
    await (subscription as unknown as PushSubscriptionOfPage).unsubscribe();
    await client.resync().catch(() => undefined);
  };
  const sent = (): readonly unknown[] => {
    const { headers, body } = asked.findLast(({ request }) => request === 'POST webPush')!;
    const former = JSON.parse(headers['deskbell-former-subscription'] ?? '{}') as {
      readonly endpoint?: string;
    };
    return [body['endpoint'], former.endpoint];
  };
  const [first, third, fourth] = [1, 3, 4].map((number) => `https://push.example/${number}`);
  await client.subscribe();
  status = 0;
  await renew();
  await renew();
  assert.deepEqual(sent(), [third, first], 'not the second one, which the service has never seen');
  status = 200;
  for (const visit of ['stored', 'sent again', 'sent again']) {
    await client.resync();
    assert.deepEqual(sent(), [third, first], visit);
  }
  assert.equal(asked.filter(({ request }) => request === 'DELETE webPush').length, 1, 'removed once');
  await renew();
  assert.deepEqual(sent(), [fourth, third]);
  await client.signOut();
  await client.resync();
  assert.deepEqual(sent(), [fourth, undefined], 'a former user must not come back');
});

test('who leaves while a former subscription could not be removed leaves both; channels are those of the new one', async () => {
  for (const [failing, chosen] of [
    ['webPush/unsubscribe', 2],
    // the service may have stored it, and only its answer was lost
    ['webPush', 1],
  ] as const) {
    const endpoints = [1, 2].map((number) => `https://push.example/${number}`);
    for (const [leave, request] of [
      ['signOut', 'DELETE webPush/user'],
      ['unsubscribe', 'DELETE webPush'],
    ] as const) {
      let isAway = false;
      const service: Browser['service'] = (asked, body) =>
        isAway && [`POST ${failing}`, 'DELETE webPush'].includes(asked)
          ? [0, '']
          : withoutChannels!(asked, body);
      const { client, asked } = openPage({}, { service });
      const { unsubscribe } = (await client.subscribe()) as unknown as PushSubscriptionOfPage;
      isAway = true;
      await unsubscribe();
      assert.equal(await reasonOf(client.resync()), 'server-unreachable');
      isAway = false;
      await client.channels();
      assert.equal(asked.at(-1)!.body['endpoint'], endpoints[chosen - 1]);
      await client[leave]();
      const left = asked.slice(-2).map((each) => [each.request, each.body['endpoint']]);
      assert.deepEqual(
        left,
        endpoints.map((endpoint) => [request, endpoint]),
      );
    }
  }
});

test('a subscription with a former key of the service, or that Chromium has given up, is ended, and another one is made', async () => {
  let key = vapidKey;
  const { client, ended, asked } = openPage({}, { service: () => [200, key] });
  await client.subscribe();
  assert.equal(await client.resync(), 'sent-again');
  // other keys of the same endpoint: the former ones are named, so that the service keeps its row
  Object.assign((await client.state()).subscription!, { getKey: () => new Uint8Array([1]).buffer });
  await client.resync();
  const { headers, body } = asked.findLast(({ request }) => request === 'POST webPush')!;
  assert.deepEqual(
    [body['auth'], headers['deskbell-former-subscription']],
    ['AQ==', JSON.stringify(firstSubscription)],
  );
  key = Buffer.alloc(65, 5).toString('base64url');
  assert.equal(await client.resync(), 'subscribed-anew');
  assert.deepEqual(ended, ['https://push.example/1']);
  key = vapidKey;
  const { subscription } = await client.state();
  Object.assign(subscription!, { endpoint: 'https://permanently-removed.invalid/fcm/send/x' });
  assert.equal(await client.resync(), 'subscribed-anew');
  assert.equal((await client.state()).subscription!.endpoint, 'https://push.example/3');
});

test('a new subscription that the service refuses is ended again; one that it could not take, or knew, is not', async () => {
  let status = 200;
  const service: Browser['service'] = (request) => {
    if (request === 'POST webPush' && status !== 200) return [status, { detail: 'Why.' }];
    return [200, vapidKey];
  };
  for (const [refusal, isEnded] of [
    [400, true],
    [401, true],
    [403, true],
    [404, false],
    [429, false],
    [500, false],
  ] as const) {
    const { client, ended, errors } = openPage({}, { service });
    status = refusal;
    const words = `POST https://example.org/app/webPush answered ${refusal}: Why.`;
    assert.equal(await failureOf(client.subscribe()), `server-refused: ${words}`);
    assert.deepEqual([ended.length, errors], [Number(isEnded), [`Deskbell: ${words} `]], String(refusal));
  }
  const { client, ended } = openPage({}, { service });
  status = 200;
  await client.subscribe();
  status = 403;
  assert.equal(await reasonOf(client.subscribe()), 'server-refused');
  assert.deepEqual(ended, []);
});

test('a request that is refused for a session cookie is repeated once without cookies', async () => {
  const sent: string[] = [];
  const fetch = async (_url: URL, { method, credentials }: RequestInit) => {
    sent.push(`${method} ${credentials}`);
    if (method === 'GET') return Response.json(vapidKey);
    return credentials === 'omit' ? Response.json('') : Response.json({ code: 'ERR_CSRF' }, { status: 403 });
  };
  await openPage({ fetch }).client.subscribe();
  assert.deepEqual(sent, ['GET same-origin', 'POST same-origin', 'POST omit']);
});

test('an answer counts only if it is what the service answers: a login page at 200 is not', async () => {
  const page = { html: '<title>Sign in</title>' };
  for (const [refused, answer, words] of [
    ['GET vapidKey', page, 'with an HTML page'],
    ['GET vapidKey', 'not a key', 'without what the service answers: '],
    ['POST webPush', page, 'with an HTML page'],
    ['POST webPush', { ok: true }, 'without what the service answers: '],
    ['DELETE webPush', page, 'with an HTML page'],
    ['POST webPush/channels', 'ok', 'without what the service answers: '],
  ] as const) {
    let isLoginOver = true;
    const service: Browser['service'] = (request) => {
      const isRefused =
        request === refused || (refused.startsWith('DELETE') && request === 'POST webPush/unsubscribe');
      if (isRefused && !isLoginOver) return [200, answer];
      return [200, request === 'POST webPush/channels' ? [] : vapidKey];
    };
    const { client } = openPage({}, { service });
    if (/DELETE|channels/.test(refused)) await client.subscribe();
    isLoginOver = false;
    const work = refused.includes('DELETE') ? client.unsubscribe() : client.subscribe();
    const failure = await failureOf(refused.includes('channels') ? client.channels() : work);
    assert.ok(failure.startsWith('server-refused: '), failure);
    assert.ok(failure.includes(words), failure);
    if (refused.startsWith('POST webPush'))
      assert.equal((await client.state()).isStored, refused !== 'POST webPush');
  }
});

test('on a server a client does nothing, and whatever is called says why', async () => {
  const { createClient } = (await import(import.meta.resolve(entry))) as {
    createClient(options: object): Client;
  };
  const client = createClient({ serviceUrl: '/push/' });
  for (const call of [
    'subscribe',
    'unsubscribe',
    'signOut',
    'resync',
    'channels',
    'history',
    'markRead',
  ] as const)
    assert.equal(
      await failureOf(client[call]()),
      'not-in-browser: There is no browser here. Call this in the page, not while it is rendered.',
    );
  assert.equal(await reasonOf(client.synced), 'not-in-browser');
  assert.equal((await client.state()).obstacle, 'not-in-browser');
  assert.throws(() => client.messages(), { reason: 'not-in-browser' });
  client.addEventListener('message', () => undefined);
});

test('a page is told of each change, of failures too', async () => {
  const { client } = openPage();
  let changes = 0;
  client.addEventListener('change', () => void (changes += 1));
  await client.synced;
  await client.subscribe();
  await client.unsubscribe();
  assert.equal(changes, 3);
  const refused = openPage({}, { permission: 'default' });
  refused.client.addEventListener('change', () => void (changes += 1));
  await refused.client.synced;
  await reasonOf(refused.client.subscribe());
  assert.equal(changes, 5);
});

test('historyLimit is kept for the service worker, and must be a whole number from 0', async () => {
  const { client, create, indexedDB } = openPage({ historyLimit: 7 });
  await client.subscribe();
  assert.equal((await change(indexedDB, {}))['historyLimit'], 7);
  for (const historyLimit of [-1, 1.5, '7'])
    assert.throws(() => create({ historyLimit }), /"historyLimit" is \S+; it must be a whole number from 0/);
});

test('history gives what the service worker has kept for this registration, until somebody signs out or unsubscribes', async () => {
  for (const leave of ['signOut', 'unsubscribe'] as const) {
    const { client, indexedDB } = openPage();
    assert.deepEqual(Array.from(await client.history()), []);
    await client.subscribe();
    const scope = 'https://example.org/app/';
    const newestFirst = [
      { title: 'Newer', isRead: false },
      { title: 'Older', isRead: true },
    ];
    const store = await openStore(indexedDB);
    store.put(newestFirst, [scope, 'history']);
    store.put([{ title: 'Elsewhere', isRead: false }], ['https://example.org/', 'history']);
    const kept = async () => (await client.history()).map(({ title, isRead }) => `${title} ${isRead}`);
    assert.deepEqual(await kept(), ['Newer false', 'Older true']);
    await client.markRead();
    assert.deepEqual(await kept(), ['Newer true', 'Older true']);
    await client[leave]();
    assert.deepEqual(await kept(), []);
  }
  assert.deepEqual(Array.from(await openPage({}, { lacks: 'PushManager' }).client.history()), []);
});

test('a service that is away, or whose answer breaks off, is named with method and URL, on the console too', async () => {
  for (const [away, status] of [
    ['GET vapidKey', 0],
    ['POST webPush', 0],
    ['GET vapidKey', 200],
    ['POST webPush', 200],
  ] as const) {
    const service: Browser['service'] = (request) =>
      request === away ? [status, breakingOff] : [200, vapidKey];
    const { client, errors, ended } = openPage({}, { service });
    const words = `${away.replace(' ', ' https://example.org/app/')}: the service cannot be reached.`;
    assert.equal(await failureOf(client.subscribe()), `server-unreachable: ${words}`);
    assert.deepEqual([ended, errors], [[], [`Deskbell: ${words} TypeError: Failed to fetch`]]);
  }
});

test('after a 409 the key is asked for again and a new subscription made, once', async () => {
  for (const refusals of [1, 2]) {
    let refused = 0;
    const service: Browser['service'] = (request) => {
      if (request !== 'POST webPush') return [200, vapidKey];
      refused += 1;
      return refused > refusals ? [200, ''] : [409, { detail: 'Other keys.' }];
    };
    const { client, asked, ended } = openPage({}, { service });
    const result = await client.subscribe().then(
      ({ endpoint }) => endpoint,
      ({ reason }: { reason: string }) => reason,
    );
    assert.equal(result, refusals === 1 ? 'https://push.example/2' : 'server-refused');
    const names = ['GET vapidKey?…', 'POST webPush'];
    assert.deepEqual(requestsOf(asked).slice(0, 4), [...names, ...names]);
    assert.equal(asked[3]!.headers['deskbell-former-subscription'], JSON.stringify(firstSubscription));
    assert.equal(ended[0], 'https://push.example/1');
  }
});

test('each obstacle has its reason, which the state has too, and nothing is asked of the service', async () => {
  for (const [browser, reason, isKnown] of [
    [{ isSecureContext: false }, 'insecure-context', true],
    [{ lacks: 'PushManager' }, 'no-support', true],
    [{ lacks: 'serviceWorker' }, 'private-window', true],
    [{ lacks: 'Notification', isHomeScreenApp: false }, 'home-screen-required', true],
    [{ lacks: 'PushManager', isHomeScreenApp: true }, 'no-support', true],
    [{ isSandboxed: true }, 'no-support', true],
    [{ permission: 'denied' }, 'permission-denied', true],
    [{ permission: 'default' }, 'permission-dismissed', false],
    [{ permission: 'default', answer: 'denied' }, 'permission-denied', false],
  ] as const) {
    const { client, asked } = openPage({}, browser);
    assert.equal(await reasonOf(client.subscribe()), reason);
    assert.equal((await client.state()).obstacle, isKnown ? reason : undefined, reason);
    assert.equal(await client.synced, 'not-subscribed');
    assert.deepEqual(asked, []);
  }
});

test('a browser whose settings block service workers is an obstacle, which the state has and every call says, until they are allowed', async () => {
  let isBlocked = true;
  for (const options of [{}, { serviceWorkerUrl: 'service-worker.js' }]) {
    isBlocked = true;
    const { client, asked, arrive } = openPage(options, { isBlocked: () => isBlocked });
    const words = 'permission-denied: Service workers, or cookies and site data, are blocked for this site.';
    assert.equal(await failureOf(client.synced), words);
    for (const call of ['subscribe', 'unsubscribe', 'signOut', 'channels', 'history'] as const)
      assert.equal(await failureOf(client[call]()), words);
    assert.equal((await client.state()).obstacle, 'permission-denied');
    assert.deepEqual(asked, []);
    const messages = client.messages();
    arrive({ title: 'Lost' });
    await new Promise(setImmediate);
    isBlocked = false;
    await client.subscribe();
    assert.equal((await client.state()).obstacle, undefined);
    arrive({ title: 'Next' });
    assert.equal((await messages.next()).value?.title, 'Next');
  }
});

const chromiumSays = (words: string): Browser => ({
  refusal: 'AbortError',
  refusalWords: `Registration failed - ${words}`,
  refusalAfterMs: 5000,
});

test('what the browser refuses while it subscribes is told from a push service that does not answer', async () => {
  const firefoxSays: Browser = { refusal: 'AbortError', refusalWords: 'Error retrieving push subscription.' };
  for (const [browser, reason] of [
    [{ refusal: 'NotAllowedError' }, 'permission-denied'],
    [chromiumSays('permission denied'), 'private-window'],
    [chromiumSays('could not connect to push server'), 'push-service-unreachable'],
    [chromiumSays('push service error'), 'no-push-service'],
    [chromiumSays('push service not available'), 'no-push-service'],
    [{ ...chromiumSays('push service error'), isOffline: true }, 'push-service-unreachable'],
    [{ ...chromiumSays('push service error'), isBrave: true }, 'push-service-off'],
    [{ ...firefoxSays, refusalAfterMs: 20 }, 'no-push-service'],
    [{ ...firefoxSays, refusalAfterMs: 3000 }, 'push-service-unreachable'],
    [{ refusal: 'NetworkError' }, 'push-service-unreachable'],
  ] as const) {
    const { client, asked } = openPage({}, browser);
    assert.equal(await reasonOf(client.subscribe()), reason, JSON.stringify(browser));
    assert.deepEqual(requestsOf(asked), ['GET vapidKey?…']);
  }
});

test('the state has permission, subscription, and whether the service has confirmed it', async () => {
  let status = 500;
  const service: Browser['service'] = (request) => [request === 'POST webPush' ? status : 200, vapidKey];
  const { client } = openPage({}, { service });
  const stateNow = async () => {
    const { subscription, permission, isStored } = await client.state();
    return [subscription?.endpoint, permission, isStored];
  };
  assert.deepEqual(await stateNow(), [undefined, 'granted', false]);
  await reasonOf(client.subscribe());
  assert.deepEqual(await stateNow(), ['https://push.example/1', 'granted', false]);
  status = 200;
  await client.subscribe();
  assert.deepEqual(await stateNow(), ['https://push.example/1', 'granted', true]);
  await client.unsubscribe();
  assert.deepEqual(await stateNow(), [undefined, 'granted', false]);
});

test('who was subscribed is subscribed anew at the next page load, unless notifications are blocked or they unsubscribed', async () => {
  const first = openPage();
  await first.client.subscribe();
  const blocked = openPage({}, { permission: 'denied' }, first.indexedDB);
  assert.deepEqual([await blocked.client.synced, blocked.asked], ['not-subscribed', []]);
  const next = openPage({}, { made: 1 }, first.indexedDB);
  assert.equal(await next.client.synced, 'subscribed-anew');
  assert.deepEqual(requestsOf(next.asked), ['GET vapidKey?…', 'POST webPush', 'DELETE webPush']);
  const { headers } = next.asked[1]!;
  assert.equal(headers['deskbell-former-subscription'], JSON.stringify(firstSubscription));
  assert.deepEqual(next.asked[2]!.body, firstSubscription, 'the former row is removed');
  await next.client.unsubscribe();
  const last = openPage({}, {}, first.indexedDB);
  assert.deepEqual([await last.client.synced, last.asked], ['not-subscribed', []]);
});

test('the page that subscribed is kept without its query, whichever page is visited later, until another one subscribes', async () => {
  const first = openPage();
  await first.client.subscribe();
  const kept = async () => (await change(first.indexedDB, {}))['pageUrl'];
  assert.equal(await kept(), 'https://example.org/app/page.html');
  const pageUrl = 'https://example.org/app/orders/7';
  const other = openPage({ serviceUrl: '/app/' }, { made: 1, pageUrl }, first.indexedDB);
  assert.equal(await other.client.synced, 'subscribed-anew');
  assert.equal(await kept(), 'https://example.org/app/page.html');
  await other.client.subscribe();
  assert.equal(await kept(), 'https://example.org/app/orders/7');
});

test('registrations and channels come with a token; signing out does not, and works after the push service has dropped the subscription', async () => {
  const { client, asked, indexedDB } = openPage({ token: async () => 'abc' }, { service: withoutChannels });
  await client.subscribe();
  await client.channels();
  await client.signOut();
  assert.deepEqual(
    asked.slice(1).map(({ request, headers }) => [request, headers['authorization']]),
    [
      ['POST webPush', 'Bearer abc'],
      ['POST webPush/channels', 'Bearer abc'],
      ['DELETE webPush/user', undefined],
    ],
  );
  const next = openPage({}, { permission: 'denied' }, indexedDB);
  await next.client.signOut();
  assert.deepEqual(next.asked, [asked.at(-1)]);
  assert.equal(next.asked[0]!.body['endpoint'], 'https://push.example/1');
  // where it fails, the subscription is still theirs
  for (const status of [0, 500]) {
    const failing = openPage({}, { permission: 'denied', service: () => [status, {}] }, indexedDB);
    const reason = status === 0 ? 'server-unreachable' : 'server-refused';
    assert.equal(await reasonOf(failing.client.signOut()), reason);
  }
});

test('where a proxy drops the body of DELETE, or refuses it, leaving works by POST, and nothing is reported', async () => {
  for (const status of [0, 400, 405]) {
    const service: Browser['service'] = (request) =>
      request.startsWith('DELETE') ? [status, {}] : [200, request === 'GET vapidKey' ? vapidKey : ''];
    const { client, asked } = openPage({}, { service });
    await client.subscribe();
    await client.signOut();
    await client.unsubscribe();
    assert.deepEqual(
      asked.slice(2).map(({ request, body }) => [request, body['endpoint']]),
      ['DELETE webPush/user', 'POST webPush/sign-out', 'DELETE webPush', 'POST webPush/unsubscribe'].map(
        (request) => [request, 'https://push.example/1'],
      ),
    );
  }
});

test('a service worker that the site registers within five seconds is waited for', async () => {
  const late = openPage({}, { registers: 'late' });
  await late.client.subscribe();
  assert.ok(late.waitedMs.includes(lateRegistrationMs));
  assert.equal(lateRegistrationMs, 5000);
  const never = openPage({}, { registers: 'never', overMs: [lateRegistrationMs] });
  assert.match(
    await failureOf(never.client.subscribe()),
    /^service-worker-failed: No service worker controls the page https:\/\/example\.org\/app\/page\.html\. /,
  );
});

test(
  'what is not ours and does not answer holds up no other page: each has timeoutMs, which is 15 seconds',
  { timeout: 10_000 },
  async () => {
    const limitMs = 15_000;
    const overMs: number[] = [];
    const waitWithoutEnd = (): Promise<never> => {
      overMs.push(limitMs);
      return new Promise(() => {});
    };
    const isOver = (): void => void waitWithoutEnd();
    for (const [options, browser, words] of [
      [{ token: waitWithoutEnd }, {}, /^undefined: No token within 15000 ms\.$/],
      [{ fetch: waitWithoutEnd }, {}, /^server-unreachable: GET /],
      [{}, { onInstalling: isOver }, /^service-worker-failed: /],
      [{}, { registers: 'never', onRegistering: isOver }, /^service-worker-failed: /],
    ] as const) {
      overMs.splice(0, Infinity, lateRegistrationMs);
      const { client, limitsMs } = openPage(options, { overMs, ...browser });
      assert.match(await failureOf(client.subscribe()), words);
      overMs.pop();
      assert.equal(await client.signOut(), undefined, 'the next in the lock');
      assert.deepEqual(new Set(limitsMs), new Set([limitMs]));
      if ('onRegistering' in browser)
        assert.equal(limitsMs.length, 2, 'for the key, and to look at the script');
    }
  },
);

test('channels are asked for and set with the stored subscription, and who has none is not subscribed', async () => {
  const stored = { name: 'news', title: 'News', isOn: true };
  // a name that every object has a member of
  const other = { name: 'constructor', title: 'Other', isOn: true };
  let isTaken = true;
  const service: Browser['service'] = (request, { choices }) => {
    if (request !== 'POST webPush/channels') return [200, vapidKey];
    const isOn = isTaken ? ((choices as { news?: boolean }).news ?? true) : true;
    return [200, [{ ...stored, isOn }, other]];
  };
  const { client, asked } = openPage({}, { service });
  assert.equal(await reasonOf(client.channels()), 'not-subscribed');
  assert.deepEqual(asked, []);
  await client.subscribe();
  assert.deepEqual(JSON.parse(JSON.stringify(await client.channels())), [stored, other]);
  assert.equal((await client.setChannels({ news: false }))[0]?.isOn, false);
  assert.deepEqual(
    asked.slice(-2).map(({ body: { choices } }) => choices),
    [{}, { news: false }],
  );
  isTaken = false;
  assert.equal(await reasonOf(client.setChannels({ news: false })), 'not-subscribed');
});

test('what was turned off while the service was away is sent when its person signs out, and never for the next person', async () => {
  for (const [leave, channelsStatus, sent] of [
    ['signOut', 200, ['Bearer ada']],
    ['signOut', 503, ['Bearer ada']],
    ['unsubscribe', 200, []],
  ] as const) {
    let user = 'ada';
    const service: Browser['service'] = (request) =>
      request === 'POST webPush/channels' ? [channelsStatus, []] : [200, vapidKey];
    const { client, asked, indexedDB } = openPage({ token: () => user }, { service });
    await client.subscribe();
    await change(indexedDB, { choices: { news: false } });
    await client[leave]();
    user = 'ben';
    await client.subscribe();
    const choosing = asked.filter(({ body }) => body['choices']);
    assert.deepEqual(
      choosing.map(({ headers }) => headers['authorization']),
      sent,
    );
  }
});

test('what was turned off while the service was away is sent at the next page load, and before anything else is chosen, until the service has it', async () => {
  const first = openPage();
  await first.client.subscribe();
  await change(first.indexedDB, { choices: { news: false } });
  let stores = 0;
  const service: Browser['service'] = (request, { choices }) => {
    if (request === 'GET vapidKey') return [200, vapidKey];
    if (request === 'POST webPush') {
      stores += 1;
      // at the page load
      return stores === 1 ? [503, { detail: 'away' }] : [200, ''];
    }
    const isKnown = stores > 1;
    const { news = true } = (choices ?? {}) as { news?: boolean };
    return [200, [{ name: 'news', title: 'News', isOn: isKnown ? news : true }]];
  };
  const { client, asked } = openPage({}, { service }, first.indexedDB);
  await client.channels();
  await client.resync();
  assert.deepEqual(
    asked.flatMap(({ body: { choices } }) => choices ?? []),
    [{ news: false }, {}, { news: false }],
  );
});

test('in a test environment such as jsdom, which lacks most of it, a client is made and reports no support', async () => {
  const location = new URL(ownPageUrl);
  const page = { document: { baseURI: ownPageUrl }, location, navigator: {}, window: {} };
  const context = createContext({ ...page, URL, Event, EventTarget });
  runInContext(outputFiles[0]!.text, context);
  const client = context['library'].createClient() as Client;
  assert.equal(await client.synced, 'not-subscribed');
  assert.equal((await client.state()).obstacle, 'no-support');
  assert.equal(await reasonOf(client.subscribe()), 'no-support');
  assert.equal((await client.history()).length, 0);
  await client.signOut();
});

test('messages come in their order, as events too, until the loop is ended; those of another registration do not', async () => {
  const { client, arrive } = openPage();
  const events: string[] = [];
  client.addEventListener('message', (event) => {
    events.push((event as MessageEvent & { data: { title: string } }).data.title);
  });
  const messages = client.messages();
  arrive({ title: 'Elsewhere' }, 'https://example.org/blog/');
  for (const title of ['One', 'Two']) arrive({ title });
  const titles = [(await messages.next()).value?.title, (await messages.next()).value?.title];
  assert.deepEqual(titles, ['One', 'Two']);
  await messages.return?.();
  assert.equal((await messages.next()).done, true);
  arrive({ title: 'Three' });
  await until(async () => events.length === 3, 'the third message');
  assert.deepEqual(events, ['One', 'Two', 'Three']);
});
