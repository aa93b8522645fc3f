// Certificates made by OpenSSL, for servers that tests start with TLS.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { find, openssl } from '../../scripts/install-test-tools.ts';

export interface Authority {
  /** Path of its certificate. */
  readonly certificate: string;
  readonly key: string;
}

const run = (...parameters: readonly string[]) =>
  execFileSync(find(openssl)!, parameters, { stdio: ['ignore', 'pipe', 'pipe'] });
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

export function makeAuthority(folder: string, name: string): Authority {
  const [certificate, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  run('req', '-x509', ...newKey, '-keyout', key, '-out', certificate, '-days', '1', '-subj', `/CN=${name}`);
  return { certificate, key };
}

/** @returns PEM of a certificate for this host alone, and of its key */
export function certify({ certificate, key }: Authority, folder: string, host: string) {
  const at = (name: string) => join(folder, name);
  const [extensions, serverKey, request, signed] = [
    at('server.ext'),
    at('server.key'),
    at('server.csr'),
    at('server.crt'),
  ];
  writeFileSync(extensions, `subjectAltName=DNS:${host}`);
  run('req', ...newKey, '-keyout', serverKey, '-out', request, '-subj', `/CN=${host}`);
  const signer = ['-CA', certificate, '-CAkey', key, '-CAcreateserial'];
  run('x509', '-req', '-in', request, ...signer, '-out', signed, '-days', '1', '-extfile', extensions);
  return { certificate: readFileSync(signed, 'utf8'), key: readFileSync(serverKey, 'utf8') };
}
