import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { verifyVapidAuthorization } from '../../src/protocol/vapid-verification.ts';
import {
  checkVapidKeys,
  checkVapidSubject,
  createVapidAuthorizer,
  findAppleSubjectFault,
  generateVapidKeys,
} from '../../src/protocol/vapid.ts';

const keys = generateVapidKeys();
const goodSubject = 'mailto:push@example.org';
const origin = 'https://push.example.net';
const hourMs = 60 * 60 * 1000;

test('a generated pair has 87 and 43 characters and belongs together, however its scalar begins', () => {
  for (let count = 0; count < 600; count += 1) {
    const pair = generateVapidKeys();
    assert.match(pair.publicKey, /^B[A-Za-z0-9_-]{86}$/);
    assert.match(pair.privateKey, /^[A-Za-z0-9_-]{43}$/);
    checkVapidKeys(pair);
  }
});

const strangers = 'public key and private key do not belong together; give both halves of one pair';
const noScalar = 'private key is not a P-256 scalar';
const noPublicKey = (size: string) => `public key (${size}) is not 87 characters of unpadded base64url`;
const noPrivateKey = (size: string) => `private key (${size}) is not 43 characters of unpadded base64url`;
const badKeys: readonly [what: string, changes: object, fault: string][] = [
  ['halves of two pairs', { privateKey: generateVapidKeys().privateKey }, strangers],
  [
    'halves exchanged',
    { publicKey: keys.privateKey, privateKey: keys.publicKey },
    noPublicKey('43 characters'),
  ],
  ['no public half', { publicKey: '' }, noPublicKey('0 characters')],
  ['no private half', { privateKey: undefined }, noPrivateKey('type undefined')],
  ['padding', { privateKey: `${keys.privateKey}=` }, noPrivateKey('44 characters')],
  ['a line break', { publicKey: `${keys.publicKey}\n` }, noPublicKey('88 characters')],
  ['a character before it', { publicKey: `.${keys.publicKey.slice(1)}` }, noPublicKey('87 characters')],
  [
    'a character behind it',
    { privateKey: `${keys.privateKey.slice(0, -1)}.` },
    noPrivateKey('43 characters'),
  ],
  ['more than it needs', { privateKey: `${keys.privateKey}AAAA` }, noPrivateKey('47 characters')],
  ['the standard alphabet', { privateKey: '+'.repeat(43) }, noPrivateKey('43 characters')],
  ['the scalar zero', { privateKey: 'A'.repeat(43) }, noScalar],
  ['a scalar beyond the order', { privateKey: Buffer.alloc(32, 0xff).toString('base64url') }, noScalar],
  ['a point off the curve', { publicKey: `${keys.publicKey.slice(0, -4)}AAAA` }, strangers],
];
for (const [what, changes, fault] of badKeys) {
  test(`a pair is refused: ${what}`, () => {
    assert.throws(
      () => checkVapidKeys({ ...keys, ...changes }),
      ({ code, message, cause }: Error & { code: string }) => {
        assert.deepEqual([code, message], ['ERR_VAPID_KEY_INVALID', `The VAPID ${fault}.`]);
        return cause instanceof Error === (fault === noScalar);
      },
    );
  });
}

for (const good of [
  goodSubject,
  'mailto:a.b+c@sub.example.org',
  'mailto:push@example.org?subject=Push',
  'MAILTO:push@example.org',
  'HTTPS://example.org',
  'mailto:push@localhost.example.org',
  'mailto:push@notlocalhost.example.org',
  'mailto:push@a127.example.org',
  'mailto:push@example.org?subject=mailto:mailto:',
  'https://example.org',
  'https://example.org/contact?x=1',
]) {
  test(`${good} is a subject`, () => checkVapidSubject(good));
}
const badSubjects: Readonly<Record<string, readonly unknown[]>> = {
  'must be a string, not undefined': [undefined],
  'must be a string, not number': [1],
  'holds a space or an angle bracket': [
    'mailto: push@example.org',
    'mailto:push@example.org ',
    'mailto:<push@example.org>',
    'mailto:Push <push@example.org>',
    'see https://example.org',
  ],
  'has mailto: twice': ['mailto:mailto:push@example.org'],
  'is not a mailto: or https: URI': [
    '',
    'push@example.org',
    'mailto:',
    'mailto:push',
    'mailto:@example.org',
    'mailto:push@',
    'https://',
    'http://example.org',
    'ftp://example.org',
    'ftp:push@example.org',
    'tel:+49301234567',
    'nonsense',
    'x-mailto:push@example.org',
    'mailto:push@example.org@example.org',
    'x-https://example.org',
  ],
  'names this machine itself': [
    'mailto:push@localhost',
    'mailto:push@app.localhost',
    'mailto:push@127.0.0.1',
    'mailto:push@sub.localhost.',
    'https://localhost',
    'https://localhost:8080/contact',
    'https://127.0.0.1/',
    'https://[::1]/',
  ],
};
for (const [fault, subjects] of Object.entries(badSubjects)) {
  const message = `The VAPID subject ${fault}. Give a contact such as mailto:push@example.org or https://example.org/contact.`;
  for (const bad of subjects) {
    test(`${JSON.stringify(bad)} is no subject`, () => {
      assert.throws(() => checkVapidSubject(bad as string), { code: 'ERR_VAPID_SUBJECT_INVALID', message });
    });
  }
}

test('a token is signed once for an origin and renewed an hour before its end', () => {
  let nowMs = 1_800_000_000_000;
  const authorize = createVapidAuthorizer({ keys, subject: goodSubject, now: () => nowMs });
  const first = authorize(origin);
  nowMs += 11 * hourMs - 1;
  assert.equal(authorize(origin), first);
  nowMs += 1;
  const second = authorize(origin);
  assert.notEqual(second, first);
  assert.deepEqual(verifyVapidAuthorization(second, { origin, nowMs }), {
    publicKey: keys.publicKey,
    aud: origin,
    exp: nowMs / 1000 + 12 * 60 * 60,
    sub: goodSubject,
  });
  assert.equal(authorize(origin), second);
});

test('whatever the clock does, each token is valid for at most its lifetime and not about to expire', () => {
  const sudden = fc.constantFrom(-48 * hourMs, -1000, 48 * hourMs);
  const lifetimes = fc.constantFrom(60, 600, 3600, 7200, 43_200, 86_400);
  const partsOfLifetime = fc.array(fc.oneof(fc.double({ min: 0, max: 0.6, noNaN: true }), sudden), {
    maxLength: 20,
  });
  fc.assert(
    fc.property(partsOfLifetime, lifetimes, (steps, lifetimeSeconds) => {
      let nowMs = 1_800_000_000_000;
      const authorize = createVapidAuthorizer({
        keys,
        subject: goodSubject,
        lifetimeSeconds,
        now: () => nowMs,
      });
      for (const step of [0, ...steps]) {
        nowMs += Math.abs(step) < 1 ? Math.round(step * lifetimeSeconds * 1000) : step;
        const header = authorize(origin);
        assert.equal(authorize(origin), header);
        const claims = verifyVapidAuthorization(header, { origin, nowMs });
        assert.ok(typeof claims === 'object');
        const leftSeconds = claims.exp - Math.floor(nowMs / 1000);
        assert.ok(leftSeconds <= lifetimeSeconds && leftSeconds > Math.min(3600, lifetimeSeconds / 2));
      }
    }),
    { numRuns: 100 },
  );
});

for (const time of [Number.NaN, Infinity, -1]) {
  test(`a clock that gives ${time} signs and verifies nothing`, () => {
    const authorize = createVapidAuthorizer({ keys, subject: goodSubject, now: () => time });
    assert.throws(() => authorize(origin), { code: 'ERR_CONFIGURATION', message: /clock/ });
    const token = createVapidAuthorizer({ keys, subject: goodSubject })(origin);
    assert.throws(() => verifyVapidAuthorization(token, { origin, nowMs: time }), {
      code: 'ERR_CONFIGURATION',
      message: /nowMs/,
    });
  });
}

for (const lifetimeSeconds of [0, 59, 86_401, -1, Number.NaN, Number.POSITIVE_INFINITY, 60.5, '60', null]) {
  test(`a lifetime of ${JSON.stringify(lifetimeSeconds)} (${String(lifetimeSeconds)}) is refused`, () => {
    const options = { keys, subject: goodSubject, lifetimeSeconds: lifetimeSeconds as number };
    assert.throws(() => createVapidAuthorizer(options), {
      code: 'ERR_CONFIGURATION',
      message: /^lifetimeSeconds is .*; give a whole number from 60 to 86400\.$/,
    });
  });
}

test('a token has the header of a JWT, and its subject with the scheme in lower case', () => {
  for (const [given, sub] of [
    ['MAILTO:Push@Example.org', 'mailto:Push@Example.org'],
    ['HTTPS://example.org/Contact:1', 'https://example.org/Contact:1'],
  ] as const) {
    const value = createVapidAuthorizer({ keys, subject: given })(origin);
    const [header, claims] = /t=([^,]+)/
      .exec(value)![1]!
      .split('.')
      .map((part) => Buffer.from(part, 'base64url').toString());
    assert.deepEqual(JSON.parse(header!), { typ: 'JWT', alg: 'ES256' });
    assert.equal((JSON.parse(claims!) as { sub: string }).sub, sub);
  }
});

const originOf = (host: number): string => `https://h${host}.push.example.org`;

test('the tokens of 1024 origins are kept, and the one that was signed longest ago is forgotten first', () => {
  let nowMs = 1_800_000_000_000;
  const authorize = createVapidAuthorizer({ keys, subject: goodSubject, now: () => nowMs });
  const tokens = Array.from({ length: 1024 }, (_, host) => authorize(originOf(host)));
  assert.equal(authorize(originOf(0)), tokens[0], 'all are kept');
  nowMs += 12 * hourMs;
  const renewed = authorize(originOf(0));
  nowMs -= 12 * hourMs;
  authorize(originOf(1024));
  assert.notEqual(authorize(originOf(1)), tokens[1], 'the second is the oldest now');
  nowMs += 12 * hourMs;
  assert.equal(authorize(originOf(0)), renewed);
});

test('an authorizer is not made from a bad pair or subject', () => {
  assert.throws(() => createVapidAuthorizer({ keys, subject: 'mailto:push@localhost' }), {
    code: 'ERR_VAPID_SUBJECT_INVALID',
  });
  assert.throws(
    () => createVapidAuthorizer({ keys: { ...keys, publicKey: 'A'.repeat(87) }, subject: goodSubject }),
    {
      code: 'ERR_VAPID_KEY_INVALID',
    },
  );
});

for (const subject of [
  'mailto:push@example.org',
  'MAILTO:push@Example.ORG',
  'mailto:push@mail.example.co.uk?subject=push',
  'mailto:push@example.org.',
  'mailto:push@bücher.de',
  'mailto:push@xn--bcher-kva.xn--p1ai',
  'https://example.org/contact',
  'https://push.example.org:8443/',
]) {
  test(`Apple takes ${subject}`, () => {
    checkVapidSubject(subject);
    assert.equal(findAppleSubjectFault(subject), undefined);
  });
}

for (const subject of [
  'mailto:push@printer.local',
  'mailto:push@PRINTER.LOCAL',
  'mailto:push@printer.local.',
  'mailto:push@nowhere.invalid',
  'mailto:push@a.test',
  'mailto:push@a.example',
  'mailto:push@a.internal',
  'mailto:push@router.lan',
  'mailto:push@a.home.arpa',
  'mailto:push@intranet',
  'mailto:push@192.0.2.1',
  'mailto:push@example.123',
  'mailto:push@-.org',
  'https://intranet/contact',
  'https://wiki.local/contact',
  'https://192.0.2.1/',
]) {
  test(`Apple refuses ${subject}`, () => {
    checkVapidSubject(subject);
    assert.match(findAppleSubjectFault(subject) ?? '', /^BadJwtToken: .*such as mailto:push@your\.domain\.$/);
  });
}
