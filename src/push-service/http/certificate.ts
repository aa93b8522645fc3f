// A certificate for loopback that no authority has signed: whoever connects is given it as the authority.
import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';

export interface Certificate {
  /** PEM. */
  readonly key: string;
  /** PEM; also what a client needs as its `ca`. */
  readonly cert: string;
}

/** A certificate for `localhost`, `127.0.0.1`, `::1` and `host`, valid for a year. */
export async function makeCertificate(host: string): Promise<Certificate> {
  // loaded when needed: it takes longer than all the rest of the push service
  const { generate } = await import('selfsigned');
  const names = new Set(['localhost', '127.0.0.1', '::1', host]);
  // OpenSSL looks an authority up by its name: a client that trusts two of ours must be able to tell them apart
  const commonName = `deskbell push service ${randomUUID()}`;
  const { private: key, cert } = await generate([{ name: 'commonName', value: commonName }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', digitalSignature: true, keyCertSign: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [...names].map((name) => (isIP(name) ? { type: 7, ip: name } : { type: 2, value: name })),
      },
    ],
  });
  return { key, cert };
}
