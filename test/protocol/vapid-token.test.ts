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

const badKeys: readonly [string, { publicKey: unknown; privateKey: unknown }][] = [
  ['halves of two pairs', { ...keys, privateKey: generateVapidKeys().privateKey }],
  ['halves exchanged', { publicKey: keys.privateKey, privateKey: keys.publicKey }],
  ['no public half', { ...keys, publicKey: '' }],
  ['no private half', { ...keys, privateKey: undefined }],
  ['padding', { ...keys, privateKey: `${keys.privateKey}=` }],
  ['a line break', { ...keys, publicKey: `${keys.publicKey}\n` }],
  ['a character before it', { ...keys, publicKey: `.${keys.publicKey.slice(1)}` }],
  ['a character behind it', { ...keys, privateKey: `${keys.privateKey.slice(0, -1)}.` }],
  ['more than it needs', { ...keys, privateKey: `${keys.privateKey}AAAA` }],
  ['the standard alphabet', { ...keys, privateKey: '+'.repeat(43) }],
  ['the scalar zero', { ...keys, privateKey: 'A'.repeat(43) }],
  ['a scalar beyond the order', { ...keys, privateKey: Buffer.alloc(32, 0xff).toString('base64url') }],
  ['a point off the curve', { ...keys, publicKey: `${keys.publicKey.slice(0, -4)}AAAA` }],
];
for (const [what, pair] of badKeys) {
  test(`a pair is refused: ${what}`, () => {
    assert.throws(
      () => checkVapidKeys(pair as typeof keys),
      (error: Error & { code: string }) => {
        assert.equal(error.code, 'ERR_VAPID_KEY_INVALID');
        assert.ok(!error.message.includes(keys.privateKey));
        return true;
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
for (const bad of [
  '',
  'push@example.org',
  'mailto:',
  'mailto:push',
  'mailto:@example.org',
  'mailto:push@',
  'mailto: push@example.org',
  'mailto:push@example.org ',
  'mailto:<push@example.org>',
  'mailto:Push <push@example.org>',
  'mailto:mailto:push@example.org',
  'mailto:push@localhost',
  'mailto:push@app.localhost',
  'mailto:push@127.0.0.1',
  'https://',
  'https://localhost',
  'https://localhost:8080/contact',
  'https://127.0.0.1/',
  'https://[::1]/',
  'http://example.org',
  'ftp://example.org',
  'ftp:push@example.org',
  'tel:+49301234567',
  'nonsense',
  'x-mailto:push@example.org',
  'mailto:push@example.org@example.org',
  'see https://example.org',
  'x-https://example.org',
  'mailto:push@sub.localhost.',
  undefined,
  1,
]) {
  test(`${JSON.stringify(bad)} is no subject`, () => {
    assert.throws(() => checkVapidSubject(bad as string), { code: 'ERR_VAPID_SUBJECT_INVALID' });
  });
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

for (const [what, stepMs] of [
  ['two days ahead', -48 * hourMs],
  ['a second ahead', -1000],
  ['two days behind', 48 * hourMs],
] as const) {
  test(`a token that was signed while the clock was ${what} is renewed once it is set right`, () => {
    for (const lifetimeSeconds of [60, 43_200, 86_400]) {
      let nowMs = 1_800_000_000_000;
      const authorize = createVapidAuthorizer({
        keys,
        subject: goodSubject,
        lifetimeSeconds,
        now: () => nowMs,
      });
      authorize(origin);
      nowMs += stepMs;
      const renewed = authorize(origin);
      const claims = verifyVapidAuthorization(renewed, { origin, nowMs });
      assert.ok(typeof claims === 'object', `${what}, ${lifetimeSeconds} s: ${JSON.stringify(claims)}`);
      assert.equal(claims.exp, nowMs / 1000 + lifetimeSeconds);
      assert.equal(authorize(origin), renewed);
    }
  });
}

test('whatever the clock does, each token is valid for at most its lifetime and not about to expire', () => {
  const stepsMs = fc.array(fc.integer({ min: -72 * hourMs, max: 72 * hourMs }), { maxLength: 20 });
  const lifetimes = fc.integer({ min: 60, max: 86_400 });
  fc.assert(
    fc.property(stepsMs, lifetimes, (steps, lifetimeSeconds) => {
      let nowMs = 1_800_000_000_000;
      const authorize = createVapidAuthorizer({
        keys,
        subject: goodSubject,
        lifetimeSeconds,
        now: () => nowMs,
      });
      for (const stepMs of [0, ...steps]) {
        nowMs += stepMs;
        const claims = verifyVapidAuthorization(authorize(origin), { origin, nowMs });
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

test('every origin has its own token, a port makes another origin', () => {
  const authorize = createVapidAuthorizer({ keys, subject: goodSubject });
  const tokens = [origin, `${origin}:8443`, 'https://push.example.org'].map((audience) =>
    authorize(audience),
  );
  assert.equal(new Set(tokens).size, 3);
  assert.equal(authorize(origin), tokens[0]);
});

test('a token is renewed rather than handed out with too little time left, whatever its lifetime', () => {
  for (const lifetimeSeconds of [60, 600, 3600, 7200, 86_400]) {
    let nowMs = 1_800_000_000_500;
    const authorize = createVapidAuthorizer({
      keys,
      subject: goodSubject,
      lifetimeSeconds,
      now: () => nowMs,
    });
    for (let step = 0; step < 50; step += 1) {
      const claims = verifyVapidAuthorization(authorize(origin), { origin, nowMs });
      assert.ok(typeof claims === 'object', `valid at ${lifetimeSeconds} s`);
      const leftSeconds = claims.exp - nowMs / 1000;
      assert.ok(
        leftSeconds >= Math.min(3600, lifetimeSeconds / 2) - 1,
        `${leftSeconds} of ${lifetimeSeconds} s`,
      );
      assert.ok(leftSeconds <= 86_400);
      nowMs += lifetimeSeconds * 170;
    }
  }
});

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

test('the cache of tokens is bounded, and what it forgets is signed again', () => {
  const authorize = createVapidAuthorizer({ keys, subject: goodSubject });
  const first = authorize('https://h0.push.example.org');
  for (let host = 1; host <= 1024; host += 1) authorize(`https://h${host}.push.example.org`);
  assert.notEqual(authorize('https://h0.push.example.org'), first);
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
