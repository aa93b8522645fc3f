// The certificate of the local push service, read by OpenSSL: through node:crypto, and in TLS handshakes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { connect, createServer } from 'node:tls';
import { makeCertificate } from '../../../src/push-service/http/certificate.ts';

const hosts = [
  'localhost',
  'push.example.org',
  '127.0.0.1',
  '::1',
  '2001:db8::a:0:1',
  '::ffff:1.2.3.4',
  'fe80::',
];

test('it is for its hosts and addresses, and for no others', () => {
  const certificate = new X509Certificate(makeCertificate(hosts).cert);
  for (const host of ['localhost', 'push.example.org']) assert.ok(certificate.checkHost(host), host);
  for (const host of ['example.org', 'a.push.example.org'])
    assert.equal(certificate.checkHost(host), undefined);
  for (const address of hosts.slice(2)) assert.ok(certificate.checkIP(address), address);
  for (const address of ['127.0.0.2', '::2', '2001:db8::a:1:1']) {
    assert.equal(certificate.checkIP(address), undefined);
  }
});

test('it is that of a server and no authority, signed by its own key', () => {
  const { key, cert } = makeCertificate(['localhost']);
  const certificate = new X509Certificate(cert);
  assert.ok(certificate.verify(certificate.publicKey));
  assert.ok(certificate.checkIssued(certificate));
  assert.ok(certificate.checkPrivateKey(createPrivateKey(key)));
  assert.equal(certificate.ca, false);
  assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1']);
  const shown = execFileSync('openssl', ['x509', '-noout', '-text'], { input: cert, encoding: 'utf8' });
  assert.match(shown, /Basic Constraints: critical\n +CA:FALSE\n/);
  assert.match(shown, /Extended Key Usage: *\n +TLS Web Server Authentication\n/);
  const [subject, authority] = ['Subject', 'Authority'].map(
    (whose) => new RegExp(`${whose} Key Identifier: *\\n +(?:keyid:)?([\\dA-F:]{59})\\n`).exec(shown)?.[1],
  );
  assert.ok(subject !== undefined && subject === authority, shown);
  assert.match(shown, /Subject Alternative Name: *\n +DNS:localhost\n/);
  assert.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1');
  assert.match(certificate.subject, /^CN=deskbell push service [0-9a-f-]{36}$/);
  assert.equal(certificate.issuer, certificate.subject);
  const days = (Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)) / 86_400_000;
  assert.equal(days, 366);
  assert.ok(Date.parse(certificate.validFrom) < Date.now());
});

test('names and serial numbers of two differ; 300 of them can all be read', () => {
  const seen = new Set<string>();
  for (let count = 0; count < 300; count += 1) {
    const { serialNumber, subject } = new X509Certificate(makeCertificate(['localhost']).cert);
    assert.match(serialNumber, /^[4-7][0-9A-F]{31}$/);
    seen.add(serialNumber).add(subject);
  }
  assert.equal(seen.size, 600);
});

test('TLS clients accept it for its hosts when they are given it, and refuse it otherwise', async () => {
  const { key, cert } = makeCertificate(['localhost', '127.0.0.1']);
  const server = createServer({ key, cert }, (socket) => socket.on('error', () => {}).end()).listen(
    0,
    '127.0.0.1',
  );
  server.on('tlsClientError', () => {});
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const attempt = async (servername: string, ca: string[]): Promise<string> => {
    const socket = connect({ port, host: '127.0.0.1', servername, ca });
    try {
      await once(socket, 'secureConnect');
      return 'accepted';
    } catch (error) {
      return String((error as NodeJS.ErrnoException).code);
    } finally {
      socket.destroy();
    }
  };
  assert.equal(await attempt('localhost', [cert]), 'accepted');
  assert.equal(await attempt('push.example.org', [cert]), 'ERR_TLS_CERT_ALTNAME_INVALID');
  assert.equal(
    await attempt('localhost', [makeCertificate(['localhost']).cert]),
    'DEPTH_ZERO_SELF_SIGNED_CERT',
  );
  server.close();
});

// RFC 5280 §4.1.2.5
test('times from 2050 on have four digits for the year', (context) => {
  context.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2049, 6, 1) });
  const { validFrom, validTo } = new X509Certificate(makeCertificate(['localhost']).cert);
  assert.deepEqual([validFrom, validTo], ['Jun 30 00:00:00 2049 GMT', 'Jul  1 00:00:00 2050 GMT']);
});
