// TLS to PostgreSQL, as libpq reads it from the URL: which certificates are taken, and what is said about the others.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openssl, skipWithout } from '../../scripts/install-test-tools.ts';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { createClient } from '../../src/store/postgres/connection.ts';
import { PostgresDatabase } from '../../src/store/postgres/database.ts';
import { certify, makeAuthority, type Authority } from './certificates.ts';
import { useSharedServer } from '../../tools/postgres-server.ts';

const getServer = useSharedServer();

interface TlsOfConnection {
  readonly ssl: boolean;
  /** Of the client's certificate. */
  readonly client_dn: string | null;
}

const tlsOf = async (address: string): Promise<TlsOfConnection | undefined> => {
  const database = await PostgresDatabase.open({ url: address });
  try {
    return await database.first('select ssl, client_dn from pg_stat_ssl where pid = pg_backend_pid()');
  } finally {
    await database.close();
  }
};
const isEncrypted = async (address: string): Promise<boolean | undefined> => (await tlsOf(address))?.ssl;

/** The same host twice. */
const ofSeveral = (address: string): string => address.replace(/(?<=@)[^/]+/, '$&,$&');

const refused = (message: RegExp) => ({ code: 'ERR_STORE_UNAVAILABLE', message });

describe('TLS to PostgreSQL', { skip: skipWithout('the tests of TLS', [openssl]) }, () => {
  let folder: string;
  let trusted: Authority;
  let other: Authority;
  let url: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'deskbell-tls-'));
    [trusted, other] = [makeAuthority(folder, 'trusted'), makeAuthority(folder, 'other')];
    url = (await (await getServer()).createDatabase()).url;
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const withTls = (host: string, parameters: Readonly<Record<string, string>>): string => {
    const changed = new URL(url);
    changed.hostname = host;
    for (const [name, value] of Object.entries(parameters)) changed.searchParams.set(name, value);
    return changed.href;
  };

  test('is refused at once by a server that has none', async () => {
    for (const sslmode of ['require', 'verify-full']) {
      await assert.rejects(
        openPostgresStore({ url: withTls('localhost', { sslmode }) }),
        refused(/does not support TLS, which sslmode requires/),
      );
    }
    assert.equal(await isEncrypted(withTls('localhost', { sslmode: 'disable' })), false);
  });

  test('checks what sslmode says, and no less', async (t) => {
    await (
      await getServer()
    ).useTls(certify(trusted, folder, 'localhost'), readFileSync(trusted.certificate, 'utf8'));
    const { certificate: sslrootcert } = trusted;
    assert.equal(await isEncrypted(url), false, 'not without sslmode');
    assert.equal(await isEncrypted(withTls('127.0.0.1', { sslmode: 'require' })), true);
    assert.equal(await isEncrypted(withTls('127.0.0.1', { sslmode: 'verify-ca', sslrootcert })), true);
    const verified = { sslmode: 'verify-full', sslrootcert };
    assert.equal(await isEncrypted(withTls('localhost', verified)), true);
    const own = { sslcert: join(folder, 'server.crt'), sslkey: join(folder, 'server.key') };
    assert.equal((await tlsOf(withTls('localhost', { ...verified, ...own })))?.client_dn, '/CN=localhost');

    const untrusted = refused(/certificate that is not trusted \(\w+\): check its host name/);
    const isRefused = (host: string, parameters: Readonly<Record<string, string>>) =>
      assert.rejects(openPostgresStore({ url: withTls(host, parameters) }), untrusted);
    // as is the connection for notices
    const forNotices = await createClient({ url: withTls('127.0.0.1', { sslmode: 'require' }) });
    await forNotices.connect();
    await forNotices.end();
    // each of several hosts is connected to in the same way
    assert.equal(await isEncrypted(ofSeveral(withTls('127.0.0.1', { sslmode: 'require' }))), true);
    assert.equal(await isEncrypted(ofSeveral(withTls('localhost', verified))), true);
    // the host's name is not in the certificate
    await isRefused('127.0.0.1', { sslmode: 'verify-full', sslrootcert });
    const several = ofSeveral(withTls('127.0.0.1', verified));
    await assert.rejects(openPostgresStore({ url: several }), untrusted);
    for (const sslmode of ['require', 'verify-ca', 'verify-full']) {
      await isRefused('localhost', { sslmode, sslrootcert: other.certificate });
    }
    // nobody whom the system trusts has signed it
    await isRefused('localhost', { sslmode: 'verify-full' });

    // without sslmode, as with verify-full once anything asks for TLS
    assert.equal(await isEncrypted(withTls('localhost', { sslrootcert })), true);
    await isRefused('127.0.0.1', { sslrootcert });
    await isRefused('localhost', own);
    t.after(() => delete process.env['PGSSLMODE']);
    for (const mode of ['require', 'verify-ca', 'verify-full']) {
      process.env['PGSSLMODE'] = mode;
      await isRefused('localhost', {});
      assert.equal(await isEncrypted(withTls('localhost', { sslmode: 'disable' })), false);
    }
  });

  test('binds the login to the TLS connection, if channel_binding asks for it', async () => {
    const binding = { sslmode: 'require', channel_binding: 'require' };
    assert.equal(await isEncrypted(withTls('127.0.0.1', binding)), true);
    assert.equal(await isEncrypted(ofSeveral(withTls('127.0.0.1', binding))), true);
    const withoutTls = withTls('127.0.0.1', { ...binding, sslmode: 'disable' });
    const reason = {
      code: 'ERR_CONFIGURATION',
      message: /its channel_binding is "require", and the server does not offer SCRAM-SHA-256-PLUS/,
    };
    await assert.rejects(openPostgresStore({ url: withoutTls }), reason);
    await assert.rejects(openPostgresStore({ url: ofSeveral(withoutTls) }), reason);
    assert.equal(await isEncrypted(withTls('127.0.0.1', { channel_binding: 'prefer' })), false);
  });

  test('names the file that is missing, and what must not be left out', async () => {
    const missing = join(folder, 'none.pem');
    for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
      await assert.rejects(
        openPostgresStore({ url: withTls('localhost', { sslmode: 'require', [name]: missing }) }),
        {
          code: 'ERR_CONFIGURATION',
          message: new RegExp(`its ${name} ".*none.pem" cannot be read \\(ENOENT\\)`),
        },
      );
    }
    await assert.rejects(openPostgresStore({ url: withTls('localhost', { sslmode: 'verify-ca' }) }), {
      code: 'ERR_CONFIGURATION',
      message: /"verify-ca" needs sslrootcert/,
    });
  });
});
