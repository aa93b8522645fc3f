import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createEncryptBatch, createEncrypter } from '../../src/protocol/message-encryption.ts';
import { decryptPushMessage, generateUserAgentKeys } from '../../src/protocol/user-agent.ts';

test('each message of a batch has its body or its error, in the order of the messages', () => {
  const userAgents = [generateUserAgentKeys(), generateUserAgentKeys(), generateUserAgentKeys()];
  const [first, second, third] = userAgents as [
    (typeof userAgents)[0],
    (typeof userAgents)[0],
    (typeof userAgents)[0],
  ];
  const [one, refused, tooLarge, two] = createEncryptBatch(createEncrypter())([
    { plaintext: Buffer.from('one'), subscription: first },
    { plaintext: Buffer.from('x'), subscription: { ...second, auth: new Uint8Array(15) } },
    { plaintext: new Uint8Array(3994), subscription: second },
    { plaintext: Buffer.from('two'), subscription: third },
  ]);
  assert.equal(String(Buffer.from(decryptPushMessage(one as Uint8Array, first))), 'one');
  assert.equal(String(Buffer.from(decryptPushMessage(two as Uint8Array, third))), 'two');
  assert.equal((refused as { code?: string }).code, 'ERR_SUBSCRIPTION_KEY_INVALID');
  assert.equal((tooLarge as { code?: string }).code, 'ERR_PAYLOAD_TOO_LARGE');
});

test('a batch of no messages has no bodies', () => {
  assert.deepEqual(createEncryptBatch(createEncrypter())([]), []);
});

test('an error of the program is thrown, not returned', () => {
  const encryptBatch = createEncryptBatch(() => {
    throw new TypeError('a bug');
  });
  const message = { plaintext: new Uint8Array(1), subscription: generateUserAgentKeys() };
  assert.throws(() => encryptBatch([message]), { name: 'TypeError', message: 'a bug' });
});
