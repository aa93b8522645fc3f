// The wording of the errors: what is wrong, the value or its size where it is no secret, the bounds, the remedy.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { decodeAes128gcm } from '../../src/protocol/aes128gcm.ts';
import { encryptPushMessage, type EncryptionOptions } from '../../src/protocol/message-encryption.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { encodePayload } from '../../src/protocol/message/encode-payload.ts';
import type { Message } from '../../src/protocol/message/message.ts';
import { pushHeaders, type PushOptions } from '../../src/protocol/request.ts';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import { decryptPushMessage, generateUserAgentKeys } from '../../src/protocol/user-agent.ts';
import { checkVapidKeys, checkVapidSubject, generateVapidKeys } from '../../src/protocol/vapid.ts';

const userAgent = generateUserAgentKeys();
const vapidKeys = generateVapidKeys();
const policy = createEndpointPolicy();
const subscription = {
  endpoint: 'https://fcm.googleapis.com/fcm/send/a',
  p256dh: Buffer.from(userAgent.p256dh).toString('base64'),
  auth: Buffer.from(userAgent.auth).toString('base64'),
};
const offCurve = Buffer.alloc(65).fill(4, 0, 1);

const encrypt = (changes: object, options: EncryptionOptions = {}): unknown =>
  encryptPushMessage(new Uint8Array(1), { ...userAgent, ...changes }, options);
const parse = (changes: object): unknown => parseSubscription({ ...subscription, ...changes }, policy);
const headers = (options: object): unknown =>
  pushHeaders(options as PushOptions, '', 'https://push.example.net');
const encode = (message: unknown): unknown => encodePayload(message as Message);
const content = (changes: { recordSize?: number; idLength?: number; length?: number }): unknown => {
  const { recordSize = 4096, idLength = 0, length = 21 } = changes;
  const bytes = Buffer.alloc(21);
  bytes.writeUInt32BE(recordSize, 16);
  bytes.writeUInt8(idLength, 20);
  return decodeAes128gcm(bytes.subarray(0, length), new Uint8Array(16));
};
const pair = (changes: object): void => checkVapidKeys({ ...vapidKeys, ...changes });
const contact = 'Give a contact such as mailto:push@example.org or https://example.org/contact.';
const subject = (value: unknown): void => checkVapidSubject(value as string);

const errors: readonly [string, () => unknown][] = [
  ['p256dh has 64 bytes; give a Uint8Array of 65 bytes.', () => encrypt({ p256dh: new Uint8Array(64) })],
  ['p256dh is of type string; give a Uint8Array of 65 bytes.', () => encrypt({ p256dh: 'B' })],
  ['p256dh is of type null; give a Uint8Array of 65 bytes.', () => encrypt({ p256dh: null })],
  ['auth is of type array; give a Uint8Array of 16 bytes.', () => encrypt({ auth: [1] })],
  [
    'p256dh is not an uncompressed point, which begins with the byte 0x04.',
    () => encrypt({ p256dh: new Uint8Array(65) }),
  ],
  ['p256dh is not a point on the curve P-256.', () => encrypt({ p256dh: offCurve })],
  ['salt has 15 bytes; give a Uint8Array of 16 bytes.', () => encrypt({}, { salt: new Uint8Array(15) })],
  [
    'applicationServerPrivateKey is not a scalar of P-256.',
    () => encrypt({}, { applicationServerPrivateKey: new Uint8Array(32) }),
  ],
  ['paddingBytes is -1; give a whole number from 0 to 3993.', () => encrypt({}, { paddingBytes: -1 })],
  [
    'paddingBytes is of type string; give a whole number from 0 to 3993.',
    () => encrypt({}, { paddingBytes: '1' as unknown as number }),
  ],
  [
    'The payload has 3994 bytes; at most 3993 fit into one push message.',
    () => encryptPushMessage(new Uint8Array(3994), userAgent),
  ],
  ['The content has 20 bytes, less than its header.', () => content({ length: 20 })],
  ['The content has 21 bytes, less than its header.', () => content({ idLength: 1 })],
  ['The record size is 17; at least 18 is needed.', () => content({ recordSize: 17 })],
  ['The content ends before its last record.', () => content({})],
  ['The content ends before its last record.', () => content({ recordSize: 18 })],
  [
    'The key id of the message is not a point on P-256.',
    () => decryptPushMessage(Buffer.alloc(86).fill(65, 20, 21).fill(18, 19, 20), userAgent),
  ],
  ['ttlSeconds is 1.5; give a whole number from 0 to 2147483647.', () => headers({ ttlSeconds: 1.5 })],
  ['urgency is "urgent"; give one of very-low, low, normal, high.', () => headers({ urgency: 'urgent' })],
  ['urgency is of type number; give one of very-low, low, normal, high.', () => headers({ urgency: 1 })],
  ['topic is of type array; give a string.', () => headers({ topic: [] })],
  ['The message is of type string; give an object with title and message.', () => encode('text')],
  ['The member title of the message is of type undefined; give a string.', () => encode({ message: 'm' })],
  [
    'The member message of the message is of type null; give a string.',
    () => encode({ title: 't', message: null }),
  ],
  [
    'The member data of the message is not usable; give a value that JSON can hold.',
    () => encode({ title: 't', message: 'm', data: 1n }),
  ],
  ['An object is needed, not array.', () => parseSubscription([], policy)],
  ['An object is needed, not number.', () => parse({ p256dh: undefined, auth: undefined, keys: 1 })],
  ['endpoint is missing. auth must be a string, not null.', () => parse({ endpoint: undefined, auth: null })],
  ['auth is not base64 (standard or URL-safe, padded or not).', () => parse({ auth: '*' })],
  ['auth has 3 bytes; 16 are needed.', () => parse({ auth: 'AAAA' })],
  [
    'p256dh is not an uncompressed point on the curve P-256.',
    () => parse({ p256dh: offCurve.toString('base64') }),
  ],
  [
    'The endpoint has 4097 characters; at most 4096 are allowed.',
    () => parse({ endpoint: subscription.endpoint.padEnd(4097, 'a') }),
  ],
  ['The endpoint is not an absolute https: URL.', () => parse({ endpoint: '/fcm/send/a' })],
  ['The endpoint must begin with https:.', () => parse({ endpoint: 'http://fcm.googleapis.com/a' })],
  [
    'The endpoint must begin with https:, unless "pushServices" names its push service (--push-services http://127.0.0.1:8090).',
    () => parse({ endpoint: 'http://127.0.0.1:8090/push/secret' }),
  ],
  [
    'The VAPID public key (0 characters) is not 87 characters of unpadded base64url.',
    () => pair({ publicKey: '' }),
  ],
  [
    'The VAPID private key (type undefined) is not 43 characters of unpadded base64url.',
    () => pair({ privateKey: undefined }),
  ],
  ['The VAPID private key is not a P-256 scalar.', () => pair({ privateKey: 'A'.repeat(43) })],
  [
    'The VAPID public key and private key do not belong together; give both halves of one pair.',
    () => pair({ privateKey: generateVapidKeys().privateKey }),
  ],
  [`The VAPID subject must be a string, not undefined. ${contact}`, () => subject(undefined)],
  [`The VAPID subject holds a space or an angle bracket. ${contact}`, () => subject('mailto: a@example.org')],
  [`The VAPID subject has mailto: twice. ${contact}`, () => subject('mailto:mailto:a@example.org')],
  [`The VAPID subject is not a mailto: or https: URI. ${contact}`, () => subject('ftp://example.org')],
  [`The VAPID subject names this machine itself. ${contact}`, () => subject('mailto:a@localhost')],
];

for (const [message, call] of errors) {
  test(message, () => assert.throws(call, { name: 'DeskbellError', message }));
}

test('an error has what caused it', () => {
  const causes: readonly (() => unknown)[] = [
    () => encrypt({ p256dh: offCurve }),
    () => encrypt({}, { applicationServerPrivateKey: new Uint8Array(32) }),
    () => encode({ title: 't', message: 'm', data: 1n }),
    () => pair({ privateKey: 'A'.repeat(43) }),
    () => decryptPushMessage(encryptPushMessage(new Uint8Array(1), userAgent), generateUserAgentKeys()),
  ];
  for (const call of causes) {
    assert.throws(call, (error: Error) => error.cause instanceof Error);
  }
});
