// RFC 8292: the example of §2.4, and what is no good token.
import assert from 'node:assert/strict';
import { createPrivateKey, sign } from 'node:crypto';
import { test } from 'node:test';

import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { verifyVapidAuthorization } from '../../src/protocol/vapid-verification.ts';

const exampleKey = 'BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs';
const example =
  'vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsI' +
  'nN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW' +
  `2L9OkSSHzvoD1oA, k=${exampleKey}`;
const exp = 1453523768;
const origin = 'https://push.example.net';
const nowMs = (exp - 3600) * 1000;

test('the example of §2.4 is verified', () => {
  assert.deepEqual(verifyVapidAuthorization(example, { origin, nowMs }), {
    publicKey: exampleKey,
    aud: origin,
    exp,
    sub: 'mailto:push@example.com',
  });
});

test('parameters may be quoted and in any order', () => {
  const [, t, k] = /^vapid t=([^,]+), k=(.+)$/.exec(example) as unknown as [string, string, string];
  assert.equal(typeof verifyVapidAuthorization(`vapid k="${k}",t="${t}"`, { origin, nowMs }), 'object');
});

const faults: readonly [string, string, { origin?: string; nowMs?: number }, string][] = [
  ['another origin', example, { origin: 'https://push.example.org' }, 'audience'],
  ['the same host with a port', example, { origin: 'https://push.example.net:8443' }, 'audience'],
  ['a token past its end', example, { nowMs: exp * 1000 }, 'expired'],
  ['a token that ends in more than 24 hours', example, { nowMs: (exp - 86_401) * 1000 }, 'expires-too-late'],
  ['a changed claim', example.replace('eyJhdWQi', 'eyJhdWQg'), {}, 'malformed'],
  ['a changed signature', example.replace('.i3C', '.j3C'), {}, 'signature'],
  ['another key', example.replace(exampleKey, generateVapidKeys().publicKey), {}, 'signature'],
  ['a key that is no point', example.replace(exampleKey, `${exampleKey.slice(0, -3)}AAA`), {}, 'malformed'],
  ['no key', example.replace(/, k=.*/, ''), {}, 'malformed'],
  ['another scheme', example.replace('vapid', 'Bearer'), {}, 'malformed'],
  ['no signature', example.replace(/\.i3C[^,]*/, ''), {}, 'malformed'],
  ['nothing', '', {}, 'malformed'],
];

for (const [what, authorization, changes, fault] of faults) {
  test(`${what} is refused: ${fault}`, () => {
    assert.equal(verifyVapidAuthorization(authorization, { origin, nowMs, ...changes }), fault);
  });
}

test('a token that names no algorithm is refused, signed or not', () => {
  const none = Buffer.from('{"typ":"JWT","alg":"none"}').toString('base64url');
  const forged = example.replace(/t=[^.]+/, `t=${none}`);
  assert.equal(verifyVapidAuthorization(forged, { origin, nowMs }), 'malformed');
});

const signer = generateVapidKeys();
const point = Buffer.from(signer.publicKey, 'base64url');
const signingKey = createPrivateKey({
  format: 'jwk',
  key: {
    kty: 'EC',
    crv: 'P-256',
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
    d: signer.privateKey,
  },
});
/** A token that is signed as it should be, whatever it says. */
const signed = (claims: string, header = '{"typ":"JWT","alg":"ES256"}'): string => {
  const text = [header, claims].map((part) => Buffer.from(part).toString('base64url')).join('.');
  const signature = sign('sha256', Buffer.from(text), { key: signingKey, dsaEncoding: 'ieee-p1363' });
  return `vapid t=${text}.${signature.toString('base64url')}, k=${signer.publicKey}`;
};

test('a token without a subject is valid, and its claims have none', () => {
  const claims = { publicKey: signer.publicKey, aud: origin, exp };
  for (const sub of [undefined, 1, null]) {
    const token = signed(JSON.stringify({ aud: origin, exp, sub }));
    assert.deepEqual(verifyVapidAuthorization(token, { origin, nowMs }), claims);
  }
});

const signedFaults: readonly [string, string][] = [
  ['no audience', signed(JSON.stringify({ exp }))],
  ['several audiences', signed(JSON.stringify({ aud: [origin], exp }))],
  ['an end that is text', signed(JSON.stringify({ aud: origin, exp: String(exp) }))],
  ['no end', signed(JSON.stringify({ aud: origin }))],
  ['claims that are null', signed('null')],
  ['claims that are a number', signed('1')],
  ['claims that are no JSON', signed('{')],
  ['a header that is null', signed(JSON.stringify({ aud: origin, exp }), 'null')],
  ['a header that is no JSON', signed(JSON.stringify({ aud: origin, exp }), '{')],
  ['a fourth part', signed(JSON.stringify({ aud: origin, exp })).replace(', k=', '.AAAA, k=')],
  ['another scheme that holds the word', `Bearer ${signed(JSON.stringify({ aud: origin, exp }))}`],
  ['a key that is no base64', signed(JSON.stringify({ aud: origin, exp })).replace(/k=.*/, 'k=A')],
];
for (const [what, authorization] of signedFaults) {
  test(`a token with ${what} is malformed, though its signature is right`, () => {
    assert.equal(verifyVapidAuthorization(authorization, { origin, nowMs }), 'malformed');
  });
}
