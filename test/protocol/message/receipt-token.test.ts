import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { encodePayload } from '../../../src/protocol/message/encode-payload.ts';
import {
  createReceiptPayloads,
  createReceiptTokenReader,
  createReceiptTokens,
  receiptKeyBytes,
  receiptMemberBytes,
  receiptTokenPattern,
} from '../../../src/protocol/message/receipt-token.ts';

const key = randomBytes(receiptKeyBytes);
const createToken = createReceiptTokens(key);
const read = createReceiptTokenReader(key);
const id = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const subject = fc.tuple(id, id).map(([broadcastId, subscriptionId]) => ({ broadcastId, subscriptionId }));

test('a token is read as what it was made for, whatever the ids', () => {
  fc.assert(
    fc.property(subject, (given) => {
      const token = createToken(given);
      assert.match(token, new RegExp(receiptTokenPattern));
      assert.deepEqual(read(token), given);
    }),
  );
});

test('a token with any character changed is none', () => {
  const token = createToken({ broadcastId: 7, subscriptionId: 4711 });
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  for (const [index, character] of [...token].entries()) {
    for (const other of alphabet.replace(character, '')) {
      assert.equal(read(token.slice(0, index) + other + token.slice(index + 1)), undefined, `at ${index}`);
    }
  }
});

test('any other text is no token, nor is one of another key', () => {
  const other = createReceiptTokens(randomBytes(receiptKeyBytes))({ broadcastId: 7, subscriptionId: 4711 });
  const token = createToken({ broadcastId: 7, subscriptionId: 4711 });
  for (const text of [other, '', token.slice(1), `${token}AA`, `${token} `, '*'.repeat(38)]) {
    assert.equal(read(text), undefined, text);
  }
  fc.assert(fc.property(fc.string(), (text) => read(text) === undefined));
});

test('a payload gets a token for each subscription as its last member, as long as was reserved', () => {
  const message = { title: 't', message: 'ä', url: 'https://example.org/', actions: [{ title: 'Open' }] };
  for (const declarative of [false, true]) {
    const payload = encodePayload({ ...message, declarative });
    const payloadFor = createReceiptPayloads(payload, 7, key);
    for (const subscriptionId of [1, 2 ** 40]) {
      const bytes = payloadFor(subscriptionId);
      assert.equal(bytes.length, payload.length + receiptMemberBytes);
      const { receipt, ...members } = JSON.parse(new TextDecoder().decode(bytes)) as { receipt: string };
      assert.deepEqual(members, JSON.parse(new TextDecoder().decode(payload)));
      assert.deepEqual(read(receipt), { broadcastId: 7, subscriptionId });
    }
  }
});

const fill = (length: number) => ({ title: 't', message: 'm'.repeat(length) });

test('the payload of a message with receipts has room for the token', () => {
  assert.equal(receiptMemberBytes, 51);
  const room = 3993 - receiptMemberBytes;
  const frame = encodePayload(fill(0)).length;
  const largest = fill(room - frame);
  assert.equal(encodePayload(largest, undefined, { isWithReceipts: true }).length, room);
  assert.throws(() => encodePayload(fill(room - frame + 1), undefined, { isWithReceipts: true }), {
    code: 'ERR_PAYLOAD_TOO_LARGE',
    message: new RegExp(`at most ${room} fit into one push message with the ${receiptMemberBytes} of its`),
  });
});
