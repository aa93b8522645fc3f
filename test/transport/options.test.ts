// Wrong options fail when the transport is made, with an error that names them.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createTransport } from '../../src/transport/create-transport.ts';
import { certificate } from './peers.ts';

const wrong: readonly (readonly [options: object, message: RegExp])[] = [
  [{ ca: certificate.cert }, /^"ca" must be an array of strings, not a string: put it in \[ \]\.$/],
  [{ ca: [certificate.cert, Buffer.from('x')] }, /^"ca\[1\]" must be a string, not this object\.$/],
  [{ ca: ['/etc/ssl/ca.pem'] }, /^"ca\[0\]" is not a certificate in PEM: /],
  [{ pushServices: 'http://127.0.0.1:8090' }, /^"pushServices" must be an array of strings, not a string/],
  [{ noProxy: 'example.org' }, /^"noProxy" must be an array of strings, not a string/],
  [{ noProxy: { 0: 'x' } }, /^"noProxy" must be an array of strings, not this object/],
  [
    { responseTimeoutMs: 0 },
    /^"responseTimeoutMs" must be a number of milliseconds over 0 and at most 2147483647, not 0\.$/,
  ],
  [{ connectTimeoutMs: Number.NaN }, /^"connectTimeoutMs" .* not NaN\.$/],
  [{ idleTimeoutMs: Number.POSITIVE_INFINITY }, /^"idleTimeoutMs" .* not Infinity\.$/],
  [{ idleTimeoutMs: '60' }, /^"idleTimeoutMs" .* not this string\.$/],
];

for (const [options, message] of wrong) {
  test(`a wrong option is refused: ${message.source}`, () => {
    assert.throws(() => createTransport(options), { code: 'ERR_CONFIGURATION', message });
  });
}

test('an error never repeats the value of an option, which may hold a key', () => {
  const secret = 'c2VjcmV0';
  for (const name of ['ca', 'pushServices', 'noProxy']) {
    assert.throws(
      () => createTransport({ [name]: secret }),
      ({ message }: Error) => !message.includes(secret),
    );
  }
});
