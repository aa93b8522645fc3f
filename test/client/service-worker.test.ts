// The service worker's functions outside of a browser: how it reads payloads, and when it tries again. They are run as a
// browser runs them, in a global scope of their own. What browsers make of the script is proved in test/browser/.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import * as fc from 'fast-check';
import { encodePayload } from '../../src/protocol/message/encode-payload.ts';
import { unusualPayloads } from './unusual-payloads.ts';

interface ReadMessage {
  readonly title: string;
  readonly message: string;
}

/** As far as the service worker uses the browser's class of this name: the bytes, decoded with a byte order mark kept as Chromium does. */
const pushMessageData = (bytes: Uint8Array) => ({
  text: () => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes),
});

const modules = ['read-push', 'receipts', 'renewal', 'scope', 'show'];
const { outputFiles } = await build({
  stdin: {
    contents: modules.map((name) => `export * from './worker/${name}.ts';`).join(''),
    resolveDir: join(import.meta.dirname, '../../src/client'),
  },
  bundle: true,
  format: 'iife',
  globalName: 'parts',
  write: false,
});

/** Runs the modules in a global scope of their own, and returns what they export. */
function runScript(scope: Readonly<Record<string, unknown>>) {
  const location = { href: 'https://example.org/service-worker.js' };
  const self = { addEventListener: () => undefined, location, registration: scope['registration'] };
  const context = createContext({ ...scope, self, URL, Response, AbortSignal });
  runInContext(outputFiles[0]!.text, context);
  return { self, ...context['parts'] };
}

const readPayload = runScript({})['readPayload'] as (
  data: ReturnType<typeof pushMessageData> | null,
) => ReadMessage;
const read = (payload: string | Uint8Array) =>
  readPayload(pushMessageData(typeof payload === 'string' ? new TextEncoder().encode(payload) : payload));

for (const { payload, title, body } of unusualPayloads) {
  test(`the payload ${payload.toString().slice(0, 50)} is read as "${title.slice(0, 50)}"`, () => {
    const result = read(payload);
    assert.equal(result.title, title);
    assert.equal(result.message, body);
  });
}

test('a message without payload has the default title', () => {
  assert.equal(readPayload(null).title, 'New message');
});

test('further members of the payload are kept', () => {
  assert.equal(JSON.stringify(read('{"title":"t","url":"/x"}')), '{"title":"t","url":"/x","message":""}');
});

const isReadable = ({ title, message }: ReadMessage): boolean =>
  typeof title === 'string' && typeof message === 'string' && (title + message).trim() !== '';

test('the declarative form is read as the message that it is', () => {
  const message = { title: 't', message: 'm', url: 'https://example.org/7', tag: 'x', data: { order: 7 } };
  const further = {
    actions: [{ title: 'Open' }],
    appBadge: 0,
    renotify: true,
    icon: 'https://example.org/i.png',
  };
  const payload = encodePayload({ ...message, ...further, declarative: true }, () => 'an-id');
  assert.deepEqual(JSON.parse(JSON.stringify(read(payload))), {
    ...message,
    ...further,
    id: 'an-id',
    requireInteraction: true,
    actions: [{ title: 'Open', action: '0', url: message.url }],
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

test('a click opens http(s) only, absolute or relative to the scope', () => {
  const scope = runScript({ registration: { scope: 'https://example.org/app/' } });
  const toLink = (url: unknown): unknown => scope['toUrl'](url, /^https?:/);
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

test('a subscription that cannot be renewed is reported, tried again after 2, 8 and 20 s, then left to Background Sync', async () => {
  const copies = new Map<string, Response>();
  const waitedMs: number[] = [];
  const errors: unknown[] = [];
  const syncs: string[] = [];
  const scope = runScript({
    registration: {
      scope: 'https://example.org/',
      sync: { register: async (tag: string) => void syncs.push(tag) },
    },
    navigator: { locks: { request: (_name: string, work: () => unknown) => work() } },
    caches: {
      open: async () => ({
        match: async (url: string) => copies.get(url)?.clone(),
        put: async (url: string, response: Response) => void copies.set(url, response),
      }),
    },
    Notification: { permission: 'granted' },
    fetch: async () => new Response('', { status: 500 }),
    setTimeout(resolve: () => void, delayMs: number) {
      waitedMs.push(delayMs);
      resolve();
    },
    console: { error: (...parts: unknown[]) => errors.push(parts.join(' ')) },
  });

  await scope['renewWithRetries'](null);

  assert.deepEqual(waitedMs, [2000, 8000, 20_000]);
  assert.deepEqual(syncs, ['deskbell']);
  assert.deepEqual(
    errors.filter((error) => /could not be subscribed anew.*example.org answered 500/.test(String(error)))
      .length,
    4,
  );
  assert.equal(copies.size, 1, 'the next page load knows that this browser is to be subscribed');
});

/** A scope that keeps what is to be reported, and a service that gives these answers; without one it is away. */
function startReporting(answers: number[]) {
  const kept = new Map<string, Response>();
  const bodies: { readonly receipts: readonly object[] }[] = [];
  const syncs: string[] = [];
  const scope = runScript({
    registration: {
      scope: 'https://example.org/app/',
      sync: {
        async register(tag: string) {
          syncs.push(tag);
          throw new Error('not allowed');
        },
      },
    },
    navigator: { locks: { request: (_name: string, work: () => unknown) => work() } },
    caches: {
      open: async () => ({
        keys: async () => [...kept.keys()],
        match: async (url: string) => kept.get(url)?.clone(),
        put: async (url: string, response: Response) => void kept.set(url, response),
        delete: async (url: string) => kept.delete(url),
      }),
    },
    async fetch(url: URL, { body, ...options }: RequestInit) {
      assert.equal(url.href, 'https://example.org/webPush/receipts');
      assert.equal(options.keepalive, true);
      assert.equal(options.credentials, 'same-origin');
      bodies.push(JSON.parse(String(body)));
      const status = answers.shift();
      if (status === undefined) throw new TypeError('Failed to fetch');
      return { status };
    },
    setTimeout: (end: () => void) => end(),
  });
  const report = (receipt: unknown, event: string, action?: string) =>
    scope['report']({ title: 't', message: 'm', receivedAtMs: 1, receipt }, event, action);
  return { kept, bodies, syncs, report };
}

const token = 'A'.repeat(38);

test('what became of a notification is reported with its token and its action', async () => {
  const { kept, bodies, syncs, report } = startReporting([204, 204]);
  await report(token, 'shown');
  await report(token, 'clicked', 'open');
  assert.deepEqual(bodies, [
    { receipts: [{ token, event: 'shown' }] },
    { receipts: [{ token, event: 'clicked', action: 'open' }] },
  ]);
  assert.equal(kept.size, 0);
  assert.deepEqual(syncs, []);
});

test('a message without a token, or with a member of this name that is none, reports nothing', async () => {
  const { bodies, report } = startReporting([]);
  for (const receipt of [undefined, null, 7, {}, 'short', `${token}A`, `${'A'.repeat(37)}*`]) {
    await report(receipt, 'shown');
  }
  assert.deepEqual(bodies, []);
});

test('what the service did not take is kept and reported with the next; nothing fails for it', async () => {
  const { kept, bodies, syncs, report } = startReporting([429, 503]);
  await report(token, 'shown');
  await report(token, 'clicked');
  await report(token, 'dismissed');
  assert.deepEqual(
    bodies.map(({ receipts }) => receipts.length),
    [1, 2, 3],
  );
  assert.equal(kept.size, 3);
  assert.deepEqual(syncs, ['deskbell-receipts', 'deskbell-receipts', 'deskbell-receipts']);
});

test('what the service never takes is not reported again', async () => {
  for (const status of [400, 404, 413]) {
    const { kept, bodies, report } = startReporting([status]);
    await report(token, 'shown');
    assert.equal(bodies.length, 1);
    assert.equal(kept.size, 0);
  }
});

test('so many are reported at once that the service takes them', async () => {
  const { bodies, report, kept } = startReporting([...Array.from({ length: 120 }, () => 503), 204]);
  for (let index = 0; index < 121; index += 1) await report(token, 'clicked', `action-${index}`);
  assert.equal(bodies.at(-1)?.receipts.length, 50);
  assert.equal(kept.size, 71);
});
