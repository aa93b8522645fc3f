// The certificate of the local push service, for a client of rustls, which OpenSSL cannot stand in for: it refuses a server that shows the
// certificate of an authority.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { find } from '../scripts/install-test-tools.ts';
import { startPushService } from '../src/push-service/index.ts';
import { makeCertificate } from '../src/push-service/http/certificate.ts';

const execute = promisify(execFile);
const cargo = find({ names: ['cargo'], debianPackage: 'cargo' });
const skip = cargo === undefined && 'The program cargo is not on the path.';

test('a client of rustls takes the certificate, and no other', { skip, timeout: 600_000 }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-rustls-'));
  t.after(() => rm(folder, { recursive: true }));
  await cp(join(import.meta.dirname, 'rustls-client'), folder, { recursive: true });
  await execute(cargo!, ['build', '--quiet'], { cwd: folder, maxBuffer: 2 ** 26 });
  await using pushService = await startPushService({ tls: true });
  const file = join(folder, 'certificate.pem');
  const ask = (host: string) =>
    execute(join(folder, 'target/debug/rustls-client'), [
      host,
      String(pushService.port),
      file,
      '/control/statistics',
    ]);
  await writeFile(file, pushService.ca![0]!);
  for (const host of ['localhost', '127.0.0.1'])
    assert.equal((await ask(host)).stdout, 'HTTP/1.1 200 OK\r\n');
  await assert.rejects(ask('push.example.org'), /NotValidForName/);
  await writeFile(file, makeCertificate(['localhost']).cert);
  await assert.rejects(ask('localhost'), /UnknownIssuer|BadSignature/);
});
