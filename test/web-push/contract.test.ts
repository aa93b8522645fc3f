// Every case is put to the npm package `web-push` and to ours: both must give the same, or fail with the same words.
import assert from 'node:assert/strict';
import { createECDH, randomBytes } from 'node:crypto';
import { Agent as HttpAgent } from 'node:http';
import { Agent } from 'node:https';
import { after, beforeEach, suite, test } from 'node:test';

import type { RequestDetails } from '../../src/web-push/index.ts';
import {
  describeAuthorization,
  describeRequest,
  makeSubscriber,
  observe,
  original,
  ours,
  type WebPush,
} from './original.ts';

/** Callers in JavaScript pass anything. */
// oxlint-disable-next-line typescript/no-explicit-any
type Anything = any;

const vapidKeys = ours.generateVAPIDKeys();
const otherKeys = ours.generateVAPIDKeys();
const subject = 'mailto:push@example.org';
const vapidDetails = { subject, ...vapidKeys };
const subscriber = makeSubscriber('https://push.example.org:8443/wpush/v2/abc?d=e%2Bf');
const { subscription } = subscriber;
const at = (endpoint: string) => ({ ...subscription, endpoint });
const gcm = at('https://android.googleapis.com/gcm/send/abc');
const fcm = at('https://fcm.googleapis.com/fcm/send/abc');
const agent = new Agent();
after(() => agent.destroy());

const reset = (): void => {
  for (const library of [original, ours]) {
    library.setGCMAPIKey(null);
    library.setVapidDetails(null);
  }
};
beforeEach(reset);

async function agree(call: (library: WebPush) => unknown): Promise<void> {
  reset();
  const expected = await observe(() => call(original));
  assert.deepEqual(await observe(() => call(ours)), expected);
}

function describeDetails({ headers, body, ...rest }: RequestDetails): unknown {
  return { ...describeRequest(headers, body, subscriber), ...rest };
}

suite('setting defaults', () => {
  const { publicKey, privateKey } = vapidKeys;
  for (const key of [undefined, null, '', 42, 'a key'] as Anything[]) {
    test(`setGCMAPIKey(${JSON.stringify(key)})`, () => agree((library) => library.setGCMAPIKey(key)));
  }
  const subjects: Anything[] = [
    undefined,
    '',
    42,
    'no URL',
    'ftp://example.org',
    'https://localhost/contact',
    'mailto: spaced@example.org',
    'MAILTO:upper@example.org',
    subject,
  ];
  for (const given of subjects) {
    test(`setVapidDetails with the subject ${JSON.stringify(given)}`, () =>
      agree((library) => library.setVapidDetails(given, publicKey, privateKey)));
  }
  const keys: Anything[] = [
    undefined,
    null,
    '',
    42,
    {},
    'AAAA',
    `${publicKey}=`,
    'a+b',
    privateKey,
    publicKey,
  ];
  for (const given of keys) {
    test(`setVapidDetails with the key ${JSON.stringify(given)} as either half`, async () => {
      await agree((library) => library.setVapidDetails(subject, given, privateKey));
      await agree((library) => library.setVapidDetails(subject, publicKey, given));
    });
  }
  test('setVapidDetails with null and more', () =>
    agree((library) => (library as Anything).setVapidDetails(null, publicKey, privateKey)));
});

/** @param changed arguments that are not the usual ones */
const agreeOnVapidHeaders = (changed: Anything) =>
  agree((library) => {
    const usual = { audience: 'https://push.example.org', encoding: 'aes128gcm', ...vapidKeys };
    const { audience, publicKey, privateKey, encoding, expiration } = { ...usual, ...changed };
    const given = [audience, subject, publicKey, privateKey, encoding, expiration];
    const { Authorization, ...rest } = (library as Anything).getVapidHeaders(...given);
    return { ...rest, authorization: describeAuthorization(Authorization, rest['Crypto-Key']) };
  });

suite('getVapidHeaders', () => {
  for (const audience of [undefined, '', 42, {}, 'no URL', 'https://push.example.org:8443'] as Anything[]) {
    test(`with the audience ${JSON.stringify(audience)}`, () => agreeOnVapidHeaders({ audience }));
  }
  for (const encoding of ['aes128gcm', 'aesgcm', 'gzip', undefined, null] as Anything[]) {
    test(`with the encoding ${String(encoding)}`, () => agreeOnVapidHeaders({ encoding }));
  }
  const inAnHour = Math.floor(Date.now() / 1000) + 3600;
  for (const expiration of [0, null, 'soon', -1, 1.5, NaN, inAnHour, inAnHour + 90_000] as Anything[]) {
    test(`with the expiration ${String(expiration)}`, () => agreeOnVapidHeaders({ expiration }));
  }
  for (const byte of [0, 0xff]) {
    const privateKey = Buffer.alloc(32, byte).toString('base64url');
    test(`with a private key of 32 bytes of ${byte}, which is none`, () =>
      agreeOnVapidHeaders({ privateKey }));
  }
  test('with keys that do not belong together', () =>
    agreeOnVapidHeaders({ publicKey: otherKeys.publicKey }));
});

suite('encrypt', () => {
  const { p256dh, auth } = subscription.keys;
  const offCurve = Buffer.from(p256dh, 'base64url').fill(7, 1).toString('base64url');
  const compressed = `${Buffer.from(p256dh, 'base64url').subarray(0, 33).toString('base64url')}`;
  const arguments_: Anything[][] = [
    [undefined, auth, 'text', 'aes128gcm'],
    [{}, auth, 'text', 'aes128gcm'],
    [compressed, auth, 'text', 'aes128gcm'],
    [offCurve, auth, 'text', 'aes128gcm'],
    [p256dh, undefined, 'text', 'aes128gcm'],
    [p256dh, 42, 'text', 'aes128gcm'],
    [p256dh, 'AAAA', 'text', 'aes128gcm'],
    [p256dh, auth, undefined, 'aes128gcm'],
    [p256dh, auth, 42, 'aes128gcm'],
    [p256dh, auth, new Uint8Array(3), 'aes128gcm'],
    [p256dh, auth, { text: 'object' }, 'aes128gcm'],
    [p256dh, auth, 'text', 'gzip'],
    [p256dh, auth, 'text', 'aes128gcm'],
    [p256dh, auth, '', 'aes128gcm'],
    [p256dh, auth, Buffer.from('bytes'), 'aesgcm'],
    [p256dh, auth, 'ü'.repeat(6000), 'aes128gcm'],
  ];
  for (const given of arguments_) {
    const what = given.map((value) =>
      String(value).length > 20 ? `${String(value).length} characters` : value,
    );
    test(`of ${what.map(String).join(', ')}`, () =>
      agree((library) => {
        const { localPublicKey, salt, cipherText } = (library as Anything).encrypt(...given);
        const headers = {
          'content-encoding': given[3],
          encryption: `salt=${salt}`,
          'crypto-key': `dh=${localPublicKey.toString('base64url')}`,
        };
        return [describeRequest(headers, cipherText, subscriber), salt.length, cipherText.length];
      }));
  }
});

suite('generateRequestDetails', () => {
  const subscriptions: Anything[] = [
    undefined,
    null,
    {},
    { endpoint: '' },
    { endpoint: 42 },
    { endpoint: {} },
    'text',
    { endpoint: subscription.endpoint },
    { endpoint: subscription.endpoint, keys: 'text' },
    { endpoint: subscription.endpoint, keys: {} },
    { endpoint: subscription.endpoint, keys: { p256dh: subscription.keys.p256dh } },
    { endpoint: subscription.endpoint, keys: { p256dh: subscription.keys.p256dh, auth: 'AAAA' } },
    { endpoint: subscription.endpoint, keys: { p256dh: 'AAAA', auth: subscription.keys.auth } },
    subscription,
    at('http://push.example.org/plain'),
    at('https://user:word@push.example.org/'),
    gcm,
    fcm,
  ];
  for (const given of subscriptions) {
    for (const payload of [undefined, null, '', 'text', Buffer.from('bytes'), 42] as Anything[]) {
      test(`for ${JSON.stringify(given)} with the payload ${String(payload)}`, () =>
        agree((library) =>
          describeDetails(library.generateRequestDetails(given, payload, { vapidDetails })),
        ));
    }
  }

  for (const endpoint of ['nope', '/relative', '//push.example.org/x', 'a b', 'https://[']) {
    test(`for an endpoint that is no URL: ${endpoint}`, () =>
      agree((library) => library.generateRequestDetails(at(endpoint), null, { vapidDetails })));
  }

  const options: Anything[] = [
    undefined,
    null,
    'text',
    {},
    { unknown: 1 },
    { vapidDetails: null },
    { vapidDetails: {} },
    { vapidDetails: { ...vapidDetails, subject: 'no URL' } },
    { vapidDetails: { ...vapidDetails, publicKey: 'AAAA' } },
    { vapidDetails: { ...vapidDetails, publicKey: otherKeys.publicKey } },
    { gcmAPIKey: 'key' },
    { gcmAPIKey: 'key', vapidDetails: null },
    { gcmAPIKey: '' },
    { TTL: 0 },
    { TTL: '60' },
    { TTL: -1 },
    { TTL: 'soon' },
    { TTL: null },
    { contentEncoding: 'aesgcm' },
    { contentEncoding: 'aes128gcm' },
    { contentEncoding: 'gzip' },
    { contentEncoding: '' },
    { urgency: 'high' },
    { urgency: 'urgent' },
    { urgency: null },
    { topic: 'a_topic-1' },
    { topic: 'not a topic' },
    { topic: 'x'.repeat(32) },
    { topic: 'x'.repeat(33) },
    { topic: 42 },
    { headers: { 'X-Own': 'own', Authorization: 'none', ttl: '5', TTL: '6' } },
    { headers: { TTL: 1 }, TTL: 2 },
    { headers: { topic: 'one' }, topic: 'two' },
    { proxy: 'http://proxy.example.org:8889' },
    { proxy: { host: 'proxy.example.org', port: 8889 } },
    { proxy: 42 },
    { proxy: { hostname: 'proxy.example.org' } },
    { agent },
    { agent: new HttpAgent() },
    { agent: {} },
    { agent, proxy: 'http://proxy.example.org:8889' },
    { timeout: 500 },
    { timeout: '500' },
    { timeout: 0 },
    { timeout: -5 },
  ];
  for (const given of options) {
    for (const target of [subscription, gcm, fcm]) {
      for (const payload of ['text', undefined]) {
        const name = JSON.stringify(given, (key, value: unknown) => (key === 'agent' ? 'an agent' : value));
        test(`with the options ${name} and the payload ${payload} for ${target.endpoint}`, () =>
          agree((library) => {
            library.setVapidDetails(subject, vapidKeys.publicKey, vapidKeys.privateKey);
            library.setGCMAPIKey('default key');
            return describeDetails(library.generateRequestDetails(target, payload, given));
          }));
      }
    }
  }

  test('without keys of any kind', () =>
    agree((library) =>
      [subscription, gcm, fcm].map((one) => describeDetails(library.generateRequestDetails(one))),
    ));

  test('an auth of more than 16 bytes', () => {
    const long = { ...subscription.keys, auth: randomBytes(24).toString('base64url') };
    return agree((library) => {
      const { body, headers } = library.generateRequestDetails({ ...subscription, keys: long }, 'text');
      return describeRequest(headers, body, { ...subscriber, subscription: { ...subscription, keys: long } });
    });
  });
});

test('sendNotification rejects what generateRequestDetails refuses', async () => {
  await agree((library) => (library as Anything).sendNotification());
  await agree((library) => library.sendNotification(subscription, 'text', { TTL: -1 }));
  await agree((library) => library.sendNotification(subscription, 'text', { unknown: 1 } as Anything));
});

const makeError = ({ WebPushError }: WebPush) => {
  const error = new WebPushError('words', 410, { a: 'b' }, 'gone', 'https://push.example.org/x');
  return [error instanceof Error, error.message, { ...error }, String(error)];
};

test('constants, error class and key pairs have the same shape', () => {
  assert.deepEqual({ ...ours.supportedContentEncodings }, { ...original.supportedContentEncodings });
  assert.deepEqual(makeError(ours), makeError(original));
  for (const { publicKey, privateKey } of [ours.generateVAPIDKeys(), original.generateVAPIDKeys()]) {
    const ecdh = createECDH('prime256v1');
    ecdh.setPrivateKey(privateKey, 'base64url');
    assert.equal(ecdh.getPublicKey('base64url'), publicKey);
    assert.equal(privateKey.length, 43);
  }
});

test('every member of the original is there, in the default export and by name', async () => {
  const named: object = await import('../../src/web-push/index.ts');
  for (const [name, member] of Object.entries(original)) {
    assert.equal(typeof ours[name as keyof WebPush], typeof member, name);
    assert.ok(name in named, name);
  }
});
