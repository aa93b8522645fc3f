// The policy of addresses and its two subjects: hosts that strangers name, and push services that are known or listed.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSender } from '../../src/delivery/sender.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { createAddressPolicy, type Subject } from '../../src/transport/address-policy.ts';
import type { AddressSettings } from '../../src/transport/address-settings.ts';
import { createTransport } from '../../src/transport/create-transport.ts';
import { certificate } from './peers.ts';

/** @returns what the policy says against an address; undefined where it may be connected to */
function faultOf(address: string, subject: Subject, settings: AddressSettings = {}): string | undefined {
  try {
    createAddressPolicy(settings)('push.example.net', address, subject);
    return undefined;
  } catch (error) {
    assert.equal((error as { code?: unknown }).code, 'ERR_ADDRESS_BLOCKED');
    return (error as Error).message;
  }
}

const subjects = ['listed', 'unlisted'] as const;

describe('an address of NAT64 is judged by the IPv4 address inside, for everybody', () => {
  for (const subject of subjects) {
    test(`of a host that is ${subject}`, () => {
      for (const inner of ['142.250.185.74', '8.8.8.8', '17.188.143.34'])
        assert.equal(faultOf(`64:ff9b::${inner}`, subject), undefined);
      for (const inner of ['10.0.0.1', '127.0.0.1', '169.254.169.254', '100.64.0.1', '0.0.0.0'])
        assert.ok(faultOf(`64:ff9b::${inner}`, subject), inner);
      assert.ok(faultOf('64:ff9b:1::808:808', subject), 'a prefix that nobody has configured');
      assert.equal(faultOf('64:ff9b:1::808:808', subject, { nat64Prefix: '64:ff9b:1::/96' }), undefined);
      assert.ok(faultOf('64:ff9b:1::a00:1', subject, { nat64Prefix: '64:ff9b:1::/96' }));
    });
  }

  // RFC 6052 §2.4: 192.0.2.33 under a prefix of each length
  for (const [nat64Prefix, address, next] of [
    ['2001:db8::/32', '2001:db8:c000:221::', '2001:db8:c000:321::'],
    ['2001:db8:100::/40', '2001:db8:1c0:2:21::', '2001:db8:1c0:3:21::'],
    ['2001:db8:122::/48', '2001:db8:122:c000:2:2100::', '2001:db8:122:c000:3:2100::'],
    ['2001:db8:122:300::/56', '2001:db8:122:3c0:0:221::', '2001:db8:122:3c0:0:321::'],
    ['2001:db8:122:344::/64', '2001:db8:122:344:c0:2:2100::', '2001:db8:122:344:c0:3:2100::'],
    ['2001:db8:122:344::/96', '2001:db8:122:344::192.0.2.33', '2001:db8:122:344::192.0.3.33'],
  ] as const) {
    test(`under ${nat64Prefix}`, () => {
      const settings = { nat64Prefix, pushServiceAddresses: ['192.0.2.33/32'] };
      assert.equal(faultOf(address, 'listed', settings), undefined);
      assert.equal(faultOf(next, 'listed', settings), undefined, '192.0.3.33 is public');
      assert.ok(faultOf(address, 'unlisted', { nat64Prefix }));
      assert.ok(
        faultOf(address, 'listed', { pushServiceAddresses: ['192.0.2.33/32'] }),
        'without the prefix',
      );
    });
  }

  test('unless the octet that is reserved has a value', () => {
    const settings = { nat64Prefix: '2001:db8:122:344::/64', pushServiceAddresses: ['192.0.2.33/32'] };
    assert.ok(faultOf('2001:db8:122:344:1c0:2:2100::', 'listed', settings));
  });
});

test('allowed ranges hold for push services that are known or listed, and for nobody else', () => {
  const settings = { pushServiceAddresses: ['198.18.0.0/15', 'fdfe:dcba:9876::/64'] };
  for (const address of ['198.18.0.5', '198.19.255.255', 'fdfe:dcba:9876::5', '64:ff9b::198.18.0.5']) {
    assert.equal(faultOf(address, 'listed', settings), undefined, address);
    assert.ok(faultOf(address, 'listed'), address);
    assert.ok(faultOf(address, 'unlisted', settings), address);
  }
  for (const address of ['198.20.0.1', '::1', 'fe80::1', '10.0.0.1', '127.0.0.1', '::ffff:198.18.0.5', ''])
    assert.equal(faultOf(address, 'listed', settings) === undefined, address === '198.20.0.1', address);
});

test('what blocks an address of a listed push service names the setting that may help', () => {
  for (const [address, words] of [
    ['198.18.0.5', /"pushServiceAddresses"/],
    ['10.1.2.3', /"pushServiceAddresses".*"pushServices"/],
    ['fd00::5', /"pushServiceAddresses"/],
    ['64:ff9b:1::808:808', /"nat64Prefix"/],
    ['127.0.0.1', /hosts file/],
    ['0.0.0.0', /hosts file/],
    ['fe80::1', /hosts file/],
  ] as const)
    assert.match(faultOf(address, 'listed') ?? '', words);
  assert.match(faultOf('10.1.2.3', 'unlisted') ?? '', /add its origin to "pushServices"/);
});

function refused(settings: object, words: RegExp): void {
  const vapid = { ...generateVapidKeys(), subject: 'mailto:ops@example.org' };
  assert.throws(
    () => createSender({ vapid, ...settings }),
    (error: Error & { code?: string }) => {
      assert.equal(error.code, 'ERR_CONFIGURATION');
      assert.match(error.message, words);
      return true;
    },
  );
}

describe('is refused as configuration', () => {
  test('a range that has loopback, link-local or the like, or is none', () => {
    for (const range of [
      '127.0.0.0/8',
      '127.0.0.1/32',
      '0.0.0.0/0',
      '126.0.0.0/7',
      '169.254.0.0/16',
      '169.254.169.254/32',
      '224.0.0.0/8',
      '::1/128',
      '::/0',
      'fe80::/10',
      'fe80::1/128',
      '::ffff:10.0.0.0/104',
      '2002::/16',
      'ff00::/8',
      '10.0.0.0',
      '10.0.0.0/33',
      'fd00::/129',
      'ten/8',
      '10.0.0.0/8/8',
      '',
    ])
      refused({ pushServiceAddresses: [range] }, /"?pushServiceAddresses/);
  });

  test('a prefix that NAT64 cannot have', () => {
    for (const nat64Prefix of ['64:ff9b::', '64:ff9b::/95', '10.0.0.0/32', 'nat64/96', ''])
      refused({ nat64Prefix }, /nat64Prefix/);
  });

  test('a range together with any public host', () => {
    for (const pushServices of ['public', ['public'], ['https://push.example.net', 'public']])
      refused({ pushServices, pushServiceAddresses: ['198.18.0.0/15'] }, /pushServiceAddresses.*public/);
  });
});

// Wrong options fail when the transport is made, with an error that names them.

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
