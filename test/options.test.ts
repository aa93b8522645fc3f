// Every entry of the package that takes options refuses those that it does not know, and says which it does.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

import * as main from '../src/index.ts';
import * as protocol from '../src/protocol/index.ts';
import * as pushService from '../src/push-service/index.ts';
import * as service from '../src/service/index.ts';

// Its types need the browser's.
const client = (await import(String(new URL('../src/client/index.ts', import.meta.url)))) as {
  createClient(options: object): unknown;
};
const folder = mkdtempSync(join(tmpdir(), 'deskbell-options-'));
const vapidKeys = main.generateVapidKeys();
const subject = 'mailto:push@example.org';
const message = { title: 'Ding dong', message: 'Tea is ready' };
const subscription = {
  endpoint: 'https://push.example.org/1',
  p256dh: vapidKeys.publicKey,
  auth: 'AAAAAAAAAAAAAAAAAAAAAA',
};
const bytes = new Uint8Array(32);
const store = await main.openSqliteStore({ path: join(folder, 'deskbell.db') });
const sender = main.createSender({
  store,
  vapid: { ...vapidKeys, subject },
  pushServices: ['https://push.example.org'],
});
const localPushService = await pushService.startPushService();
after(async () => {
  await Promise.all([sender.close(), localPushService.close()]);
  await store.close();
  rmSync(folder, { recursive: true });
});

const serviceOptions = { store, vapidPublicKey: vapidKeys.publicKey, sessionKey: bytes };
const senderOptions = { vapid: { ...vapidKeys, subject } };

type Call = (unknown: object) => unknown;

/** Calls with what is needed and `unknown`, and one option that there is. */
const withOptions: Readonly<Record<string, readonly [call: Call, known: string]>> = {
  createSender: [(unknown) => main.createSender({ ...senderOptions, ...unknown }), 'vapid'],
  'createSender vapid': [
    (unknown) => main.createSender({ vapid: { ...senderOptions.vapid, ...unknown } }),
    'subject',
  ],
  'createSender worker': [
    (unknown) => main.createSender({ ...senderOptions, worker: { ...unknown } }),
    'maxPageRows',
  ],
  'createSender retryPolicy': [
    (unknown) => main.createSender({ ...senderOptions, retryPolicy: { ...unknown } }),
    'firstDelayMs',
  ],
  'sender.send': [(unknown) => sender.send(subscription, message, unknown), 'ttlSeconds'],
  'sender.sendPayload': [(unknown) => sender.sendPayload(subscription, bytes, unknown), 'ttlSeconds'],
  'sender.broadcast': [(unknown) => sender.broadcast('all', message, unknown), 'startAt'],
  'sender.broadcast audience': [
    (unknown) => sender.broadcast({ user: 'ada', ...unknown }, message),
    'subscriptions',
  ],
  'sender.createBroadcast': [(unknown) => sender.createBroadcast('all', message, unknown), 'startAt'],
  'sender.createSchedule': [
    (unknown) => sender.createSchedule('all', message, { cron: '0 9 * * *', ...unknown }),
    'timezone',
  ],
  'sender.createSchedule audience': [
    (unknown) => sender.createSchedule({ user: 'ada', ...unknown }, message, { cron: '0 9 * * *' }),
    'tags',
  ],
  openDataDirectory: [(unknown) => main.openDataDirectory(join(folder, 'data'), unknown), 'database'],
  openSqliteStore: [
    (unknown) => main.openSqliteStore({ path: join(folder, 'other.db'), ...unknown }),
    'subscriptionLimit',
  ],
  'openSqliteStore subscriptionLimit': [
    (unknown) =>
      main.openSqliteStore({
        path: join(folder, 'other.db'),
        subscriptionLimit: { maxSubscriptions: 1, ...unknown },
      }),
    'maxSubscriptions',
  ],
  openPostgresStore: [
    (unknown) => main.openPostgresStore({ url: 'postgres://127.0.0.1:1/none', ...unknown }),
    'maxConnections',
  ],
  createVapidAuthorizer: [
    (unknown) => protocol.createVapidAuthorizer({ keys: vapidKeys, subject, ...unknown }),
    'lifetimeSeconds',
  ],
  encryptPushMessage: [
    (unknown) =>
      protocol.encryptPushMessage(bytes, { p256dh: bytes, auth: bytes.subarray(16) }, { ...unknown }),
    'paddingBytes',
  ],
  encodePayload: [(unknown) => protocol.encodePayload(message, undefined, unknown), 'isWithReceipts'],
  pushHeaders: [
    (unknown) => protocol.pushHeaders(unknown, 'vapid', 'https://push.example.org'),
    'ttlSeconds',
  ],
  verifyVapidAuthorization: [
    (unknown) => protocol.verifyVapidAuthorization('', { origin: 'https://push.example.org', ...unknown }),
    'nowMs',
  ],
  createServer: [(unknown) => service.createServer({ ...serviceOptions, ...unknown }), 'requestTimeoutMs'],
  createService: [(unknown) => service.createService({ ...serviceOptions, ...unknown }), 'pushOnly'],
  createMiddleware: [(unknown) => service.createMiddleware({ ...serviceOptions, ...unknown }), 'trustProxy'],
  createHandler: [(unknown) => service.createHandler({ ...serviceOptions, ...unknown }), 'clientAddress'],
  'createService subscriberTokens': [
    (unknown) => {
      const subscriberTokens = { algorithm: 'HS256', key: bytes, audience: 'push', ...unknown } as const;
      return service.createMiddleware({ ...serviceOptions, subscriberTokens });
    },
    'audience',
  ],
  createSubscriberToken: [
    (unknown) => service.createSubscriberToken({ key: bytes, audience: 'push', user: 'ada', ...unknown }),
    'lifetimeSeconds',
  ],
  createSessionCookie: [
    (unknown) => service.createSessionCookie({ sessionKey: bytes, ...unknown }),
    'lifetimeSeconds',
  ],
  openExampleUsers: [(unknown) => service.openExampleUsers(unknown), 'path'],
  createLog: [(unknown) => service.createLog(unknown), 'isReadable'],
  startPushService: [(unknown) => pushService.startPushService(unknown), 'origin'],
  'startPushService limits': [
    (unknown) => pushService.startPushService({ limits: unknown }),
    'maxSubscriptions',
  ],
  createSinks: [(unknown) => localPushService.createSinks(1, unknown), 'vapidPublicKey'],
  createUserAgent: [
    (unknown) => pushService.createUserAgent({ webSocketUrl: localPushService.webSocketUrl, ...unknown }),
    'acknowledges',
  ],
  createClient: [(unknown) => client.createClient(unknown), 'serviceUrl'],
};

/** Positional arguments only, values of the protocol, or things of the application. */
const withoutOptions = [
  'generateVapidKeys',
  'sender.resume',
  'sender.work',
  'sender.close',
  'decodeBase64',
  'encodeBase64url',
  'createEncrypter',
  'createEndpointPolicy',
  'splitEndpoint',
  'readResponse',
  'toTopic',
  'parseSubscription',
  'decryptPushMessage',
  'generateUserAgentKeys',
  'checkVapidKeys',
  'checkVapidSubject',
  'createActionLogging',
  'enableFilters',
  'createLoggingFilter',
  'annotateClass',

  'createSessionAuthenticator',
  'enforceAuthenticators',
  'createLoggingActionCreator',
  'useActionCreator',
];

const isClass = (value: unknown): boolean => /^class\b/.test(String(value));

test('every function that the package exports is looked at here', () => {
  const functions = [main, protocol, service, pushService, client].flatMap((entry) =>
    Object.entries(entry).flatMap(([name, value]) =>
      typeof value === 'function' && !isClass(value) ? [name] : [],
    ),
  );
  const methods = Object.keys(sender).map((name) => `sender.${name}`);
  const listed = new Set([...Object.keys(withOptions), ...withoutOptions]);
  assert.deepEqual(
    [...functions, ...methods].filter((name) => !listed.has(name)),
    [],
  );
});

for (const [name, [call, known]] of Object.entries(withOptions)) {
  test(`${name}: an option that there is none of is refused, and those that there are named`, async () => {
    const error = await Promise.try(call, { ttl: 60 }).then(
      () => assert.fail('it was accepted'),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof Error);
    assert.match(error.message, /"(?:[\w.]+\.)?ttl"/);
    assert.match(error.message, new RegExp(`there are:? .*\\b${known}\\b`));
    assert.doesNotMatch(error.message, /60/);
  });
}

test('what is no store or log is refused where it is given, with what to give', () => {
  const wrongStores = [
    [Promise.resolve(store), 'a promise: await it'],
    [{ store }, 'this object'],
    [[store], 'this array'],
  ] as const;
  for (const [given, kind] of wrongStores) {
    const refusal = `"store" must be a store, such as that of a data directory, not ${kind}.`;
    const fault = { code: 'ERR_CONFIGURATION', message: refusal };
    assert.throws(() => main.createSender({ ...senderOptions, store: given as never }), fault);
    for (const create of [service.createServer, service.createService, service.createMiddleware]) {
      assert.throws(() => create({ ...serviceOptions, store: given as never }), fault);
    }
  }
  const log = { info() {} } as never;
  assert.throws(() => service.createMiddleware({ ...serviceOptions, log }), {
    message: '"log" must be an object with the functions info and error, not this object.',
  });
  const promised = Promise.resolve(vapidKeys) as never;
  assert.throws(() => main.createSender({ vapid: promised }), {
    message: '"vapid" must be an object, not a promise: await it.',
  });
});

test('a public key is the same for service and sender: its length, its alphabet, and a point', () => {
  const { publicKey, privateKey } = vapidKeys;
  const offCurve = Buffer.from(publicKey, 'base64url');
  offCurve[64]! ^= 1;
  const wrong: readonly unknown[] = [
    `${publicKey}=`,
    `${publicKey}\n`,
    publicKey.slice(1),
    offCurve.toString('base64url'),
    // the last character has two bits that are no part of the bytes
    publicKey.slice(0, 86) + String.fromCharCode(publicKey.charCodeAt(86) + 1),
    [publicKey],
    '',
  ];
  const keys = { ...senderOptions.vapid, privateKey };
  for (const value of wrong) {
    const given = value as string;
    const context = {
      code: 'ERR_CONFIGURATION',
      message: /^"(?:previousV|v)apidPublicKeys?" must be a public key/,
    };
    assert.throws(() => service.createService({ ...serviceOptions, vapidPublicKey: given }), context, given);
    const previousVapidPublicKeys = [given];
    assert.throws(
      () => service.createService({ ...serviceOptions, previousVapidPublicKeys }),
      context,
      given,
    );
    assert.throws(
      () => main.createSender({ vapid: { ...keys, publicKey: given } }),
      { code: 'ERR_VAPID_KEY_INVALID' },
      given,
    );
  }
  service.createService(serviceOptions);
  for (const prefix of ['push', '/push/', '/:id', '/*', '/a?b'])
    assert.throws(
      () => service.createService({ ...serviceOptions, prefix }),
      /"prefix" must be a path/,
      prefix,
    );
});

const withoutArguments = { ...main, ...sender } as unknown as Readonly<Record<string, () => unknown>>;
const needNone = new Set(['generateVapidKeys', 'close']);

for (const [name, call] of Object.entries(withoutArguments)) {
  if (typeof call !== 'function' || isClass(call) || needNone.has(name)) continue;
  test(`${name} without its arguments fails with an error of ours`, async () => {
    await assert.rejects(
      Promise.try(() => call()),
      (thrown: unknown) =>
        thrown instanceof main.DeskbellError && !/Cannot|undefined cannot/.test(thrown.message),
    );
  });
}

test('what is left out or of another kind is named, and what is to stand there', async () => {
  const none = undefined as never;
  for (const [call, code, words] of [
    [() => main.openDataDirectory(none), 'ERR_CONFIGURATION', '"directory" must be a string, not undefined.'],
    [
      () => sender.createSchedule('all', message, none),
      'ERR_SCHEDULE_INVALID',
      '"options" must be an object, not undefined.',
    ],
    [
      () => sender.broadcast('all', message, null as never),
      'ERR_MESSAGE_INVALID',
      '"options" must be an object, not null.',
    ],
    [() => sender.work(none), 'ERR_CONFIGURATION', '"signal" must be an AbortSignal, not undefined.'],
    [
      () => sender.resume(none),
      'ERR_CONFIGURATION',
      '"broadcastId" must be the ID of a broadcast, not undefined.',
    ],
    [
      () => sender.broadcast({ tags: ['news'] as never }, message),
      'ERR_FIELD_TYPE',
      'Tags must be an object with all, any, none.',
    ],
    [
      () => main.openPostgresStore({ url: 'mysql://ada:secret@127.0.0.1/x' }),
      'ERR_CONFIGURATION',
      /^"url": it must be a URL such as postgres:/,
    ],
  ] as const)
    await assert.rejects(call(), { code, message: words });
});
