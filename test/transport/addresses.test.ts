// Endpoints and DNS answers that lead inside, of which none is connected to: counted at every socket that this
// process opens, and at a server that waits on the loopback addresses.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Resolver } from 'node:dns/promises';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { createAddressPolicy, isPublicAddress, resolveWithDns } from '../../src/transport/address-policy.ts';
import { findRoute } from '../../src/transport/connect.ts';
import type { ResolvedAddress, TransportOptions } from '../../src/transport/transport.ts';
import { skipWithoutNamespaces } from '../../tools/namespaces.ts';
import { until } from '../../tools/until.ts';
import { startDnsServer } from './dns-server.ts';
import { type Peer, startHttp, startServer } from './peers.ts';
import { describe, openTransport, sendOne } from './sending.ts';

const innerAddresses: readonly (readonly [what: string, addresses: readonly string[]])[] = [
  ['this network', ['0.0.0.0', '0.0.0.1', '0.255.255.255']],
  ['loopback', ['127.0.0.1', '127.0.0.2', '127.255.255.254', '::1']],
  ['private', ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.1']],
  [
    'link-local and cloud metadata',
    ['169.254.0.1', '169.254.169.254', '169.254.170.2', 'fe80::1', 'febf::1'],
  ],
  ['carrier-grade NAT', ['100.64.0.1', '100.100.100.200', '100.127.255.255']],
  ['documentation', ['192.0.2.1', '198.51.100.7', '203.0.113.9', '2001:db8::1', '3fff::1', '3fff:fff::1']],
  ['benchmarking', ['198.18.0.1', '198.19.255.255', '2001:2::1']],
  ['multicast', ['224.0.0.1', '239.255.255.250', 'ff02::1', 'ff0e::1']],
  ['reserved and broadcast', ['240.0.0.1', '255.255.255.254', '255.255.255.255', '192.0.0.1', '192.0.0.170']],
  [
    '6to4 relays, AMT, AS112',
    ['192.88.99.1', '192.52.193.1', '192.31.196.1', '192.175.48.1', '2620:4f:8000::1'],
  ],
  ['unique local and site-local', ['fc00::1', 'fd00::1', 'fd12:3456:789a::1', 'fec0::1']],
  ['unspecified', ['::', '0:0:0:0:0:0:0:0']],
  [
    'IPv4-mapped',
    ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '::ffff:8.8.8.8'],
  ],
  ['IPv4-compatible', ['::127.0.0.1', '::7f00:1', '::10.0.0.1']],
  ['IPv4-translated', ['::ffff:0:127.0.0.1', '::ffff:0:7f00:1']],
  [
    'NAT64',
    ['64:ff9b::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::1', '64:ff9b:1:ffff::a00:1'],
  ],
  ['6to4', ['2002:7f00:1::1', '2002:a00:1::1', '2002:a9fe:a9fe::1', '2002:c0a8:101::']],
  ['Teredo', ['2001::1', '2001:0:7f00:1::', '2001:0:53aa:64c::80ff:fffe']],
  [
    'ORCHID, drone ids, discard, SRv6',
    ['2001:10::1', '2001:20::1', '2001:30::1', '100::1', '5f00::1', '4000::1'],
  ],
];

/** Hosts as somebody may write them; `URL` makes an address of each. */
const notations = [
  'localhost',
  'LOCALHOST',
  'push.localhost',
  'localhost.',
  '127.1',
  '127.0.1',
  '0',
  '0.0',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '0x7F.1',
  '0177.0.0.1',
  '017700000001',
  '0300.0250.1.1',
  '3232235777',
  '0xa9fea9fe',
  '2852039166',
  '0xA9.0376.43518',
  '%31%32%37.0.0.1',
  '①②⑦.⓪.⓪.①',
  '１２７.0.0.1',
  '127。0。0。1',
  '127.0.0.1.',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:169.254.169.254]',
  '[::127.0.0.1]',
  '[::]',
  '[fe80::1]',
  '[fd00::1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
];

let opened = 0;
const countSocket = (): void => void (opened += 1);
let reached = 0;
let inside: Peer;
let port: string;

before(async () => {
  inside = await startServer(
    createServer((socket) => {
      reached += 1;
      socket.destroy();
    }),
    'https',
  );
  port = new URL(inside.origin).port;
  subscribe('net.client.socket', countSocket);
});

after(async () => {
  unsubscribe('net.client.socket', countSocket);
  await inside.close();
});

/** Sends to an origin and makes sure that the attempt ended without any socket. */
async function assertRefused(origin: string, options: TransportOptions, code: string): Promise<void> {
  await using transport = openTransport(options);
  const openedBefore = opened;
  const result = await sendOne(transport, origin);
  assert.equal(describe(result), code, origin);
  assert.equal(opened - openedBefore, 0, `${origin} was connected to`);
  assert.equal(reached, 0);
}

const resolveNames = (): never => assert.fail('resolved');

function resolving(...addresses: string[]): NonNullable<TransportOptions['resolve']> {
  const answer = addresses.map((address): ResolvedAddress => ({
    address,
    family: isIP(address) === 6 ? 6 : 4,
  }));
  return () => Promise.resolve(answer);
}

for (const [what, addresses] of innerAddresses) {
  test(`a name that leads to ${what} is not connected to`, async () => {
    for (const address of addresses) {
      const origin = `https://push.example.org:${port}`;
      await assertRefused(origin, { resolve: resolving(address) }, 'ERR_ADDRESS_BLOCKED');
      // The public address before or behind it does not help.
      for (const answer of [resolving('93.184.216.34', address), resolving(address, '2606:4700::1111')]) {
        await assertRefused(origin, { resolve: answer }, 'ERR_ADDRESS_BLOCKED');
      }
    }
  });

  test(`an endpoint with an address of ${what} is not connected to`, async () => {
    for (const address of addresses) {
      const host = isIP(address) === 6 ? `[${address}]` : address;
      const { origin } = new URL(`https://${host}:${port}`);
      await assertRefused(origin, {}, 'ERR_ADDRESS_BLOCKED');
      // Nor is a proxy asked to.
      await assertRefused(origin, { proxy: `http://127.0.0.1:${port}` }, 'ERR_ADDRESS_BLOCKED');
    }
  });
}

test('no notation of an inner host is connected to', async () => {
  for (const notation of notations) {
    const text = `https://${notation}:${port}`;
    await assertRefused(new URL(text).origin, {}, 'ERR_ADDRESS_BLOCKED');
    // As it stands it is not an origin, unless it is in normal form already.
    if (new URL(text).origin !== text) await assertRefused(text, {}, 'ERR_ENDPOINT_INVALID');
  }
});

test('http, other schemes and what is no origin are refused before anything is resolved', async () => {
  const code = 'ERR_ENDPOINT_HOST_REFUSED';
  await assertRefused(`http://127.0.0.1:${port}`, { resolve: resolveNames }, code);
  await assertRefused('http://fcm.googleapis.com', { resolve: resolveNames }, code);
  for (const text of [
    '',
    'null',
    'ftp://x',
    'file:///etc/passwd',
    'https://a@b',
    'https://a/b',
    'https://a:443',
  ]) {
    const expected = text === 'ftp://x' ? code : 'ERR_ENDPOINT_INVALID';
    await assertRefused(text, { resolve: resolveNames }, expected);
  }
});

test('a wildcard addition, and "public", admit a host and not an inner address', async () => {
  const addition = ['https://*.push.example.org'];
  for (const pushServices of [addition, 'public', ['public', 'https://listed.example.org']] as const) {
    await assertRefused(
      `https://a.push.example.org:${port}`,
      { pushServices, resolve: resolving('127.0.0.1') },
      'ERR_ADDRESS_BLOCKED',
    );
  }
});

test('another origin that the operator named does not open the guard for this one', async () => {
  const options = { pushServices: ['https://localhost:1', `http://localhost:${port}`] };
  await assertRefused(`https://localhost:${port}`, options, 'ERR_ADDRESS_BLOCKED');
});

test('public addresses are public', () => {
  for (const address of ['8.8.8.8', '142.250.185.74', '34.107.243.93', '17.188.143.34', '223.255.255.1']) {
    assert.equal(isPublicAddress(address), true, address);
  }
  for (const address of [
    '2606:4700::1111',
    '2a00:1450:4001:82a::200a',
    '2620:149:208:430c::7',
    '2001:4860::1',
  ]) {
    assert.equal(isPublicAddress(address), true, address);
  }
  for (const text of ['', 'localhost', '0x8.8.8.8', '134744072', '8.8.8', '8.8.8.8.', 'fe80::1%eth0']) {
    assert.equal(isPublicAddress(text), false, text);
  }
});

test('a guarded name that turns inside between two look-ups is refused at the second', async () => {
  const answers = [
    { address: '93.184.216.34', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ] as const;
  let asked = 0;
  const settings = {
    isNamedOrigin: () => false,
    isUnlisted: () => false,
    checkAddress: createAddressPolicy(),
    resolve: () => Promise.resolve([answers[asked++] as ResolvedAddress]),
  };
  const origin = new URL('https://rebind.example.org');
  const { signal } = new AbortController();
  assert.deepEqual((await findRoute(origin, settings, signal)).addresses, [answers[0]]);
  await assert.rejects(findRoute(origin, settings, signal), { code: 'ERR_ADDRESS_BLOCKED' });
});

test('an address that turns inside between its check and the connection is refused before anything is sent', async () => {
  let received = 0;
  await using peer = await startServer(
    createServer((socket) => {
      socket.on('data', () => (received += 1)).on('error', () => {});
    }),
    'https',
  );
  let read = 0;
  const turning: ResolvedAddress = {
    get address() {
      read += 1;
      return read === 1 ? '93.184.216.34' : '127.0.0.1';
    },
    family: 4,
  };
  await using transport = openTransport({ resolve: () => Promise.resolve([turning]) });
  const openedBefore = opened;
  const result = await sendOne(transport, `https://push.example.org:${new URL(peer.origin).port}`);
  assert.equal(describe(result), 'ERR_ADDRESS_BLOCKED');
  assert.equal(received, 0);
  assert.equal(opened - openedBefore, 1, 'the count of sockets counts');
});

test('no redirect is followed, whatever its status and wherever it leads', async () => {
  const places = [
    inside.origin,
    `http://127.0.0.1:${port}/`,
    `//localhost:${port}/`,
    '/elsewhere',
    'http://[::1]/',
  ];
  let asked = 0;
  await using peer = await startHttp((response, requests) => {
    asked = requests;
    const [, status, place] = (response.req.url ?? '').split('/');
    response.writeHead(Number(status), { location: places[Number(place)] }).end();
  });
  await using transport = openTransport({ pushServices: [peer.origin] });
  for (const status of [300, 301, 302, 303, 305, 307, 308]) {
    for (const [index, place] of places.entries()) {
      const result = await sendOne(transport, peer.origin, { path: `/${status}/${index}` });
      assert.ok(result.kind === 'response');
      assert.equal(result.response.status, status);
      assert.equal(result.response.headers['location'], place);
    }
  }
  assert.equal(asked, 7 * places.length);
  assert.equal(reached, 0);
});

test('a path or header field that would end its line is refused before it reaches the wire', async () => {
  const origin = 'https://push.example.org';
  await using transport = openTransport({ resolve: resolveNames });
  for (const path of ['', 'x', '/a b', '/a\r\nx: y', '/ü', '/\u0000', '/\u007f', '*']) {
    assert.equal(describe(await sendOne(transport, origin, { path })), 'ERR_ENDPOINT_INVALID', path);
  }
  const headers = [
    { 'a b': '1' },
    { TTL: '1' },
    { ttl: '1\r\nx: y' },
    { ttl: 'ü' },
    { host: 'x' },
    { ':path': '/' },
  ];
  for (const fields of [
    ...headers,
    { 'transfer-encoding': 'chunked' },
    { 'content-length': '1' },
    { te: 'x' },
  ]) {
    const result = await sendOne(transport, origin, { headers: fields });
    assert.equal(describe(result), 'ERR_MESSAGE_INVALID', JSON.stringify(fields));
  }
});

// Names that strangers chose are resolved without what all other look-ups of the process need.

/** Where nothing else listens on the port of DNS. */
const dnsAddress = '127.0.0.77';

async function startDns(t: TestContext) {
  const server = await startDnsServer();
  t.after(() => server.close());
  const resolver = new Resolver({ timeout: 60_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${server.port}`]);
  const aborted = new AbortController();
  const resolve = (name: string) => resolveWithDns(name, aborted.signal, resolver);
  return { server, aborted, resolve };
}

test('DNS gives the addresses of both families, or of the one that there is', async (t) => {
  const { resolve } = await startDns(t);
  const ipv4 = { address: '127.0.0.1', family: 4 };
  assert.deepEqual(await resolve('both.example.org'), [ipv4, { address: '::1', family: 6 }]);
  assert.deepEqual(await resolve('only4.example.org'), [ipv4]);
  await assert.rejects(resolve('none.example.org'), { code: 'ENODATA' });
});

test('a look-up by DNS ends when it is not waited for any more', async (t) => {
  const { server, aborted, resolve } = await startDns(t);
  const lookup = resolve('x.silent.example.org');
  await until(() => server.asked.length === 2, 'both questions');
  aborted.abort();
  await assert.rejects(lookup, { code: 'ECANCELLED' });
});

const skip = skipWithoutNamespaces('The test with a DNS server of its own', ['--mount']);

test('silent DNS servers of strangers keep no message from a listed push service', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-dns-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const configuration = join(folder, 'resolv.conf');
  writeFileSync(configuration, `nameserver ${dnsAddress}\n`);
  const { stdout } = await promisify(execFile)('unshare', [
    '--mount',
    'sh',
    '-ec',
    'mount --bind "$0" /etc/resolv.conf; exec "$@"',
    configuration,
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    join(import.meta.dirname, 'name-lookups-child.ts'),
    dnsAddress,
  ]);
  assert.equal(stdout, '201 ERR_ADDRESS_BLOCKED\n');
});
