// Names that strangers chose are resolved without what all other look-ups of the process need.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';

import { resolveWithDns } from '../../src/transport/address-policy.ts';
import { skipWithoutNamespaces } from '../../tools/namespaces.ts';
import { until } from '../../tools/until.ts';
import { startDnsServer } from './dns-server.ts';

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
