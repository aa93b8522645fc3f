// What a proxy with TLS in front of Deskbell needs, and requests to it by the names of its hosts.
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { makeCertificate } from '../src/push-service/http/certificate.ts';
import { freePort } from '../tools/listening.ts';

/** Writes `cert.pem` and `key.pem` for these hosts, and finds a port for the proxy. */
export async function prepareProxy(folder: string, hosts: readonly string[]) {
  const { cert, key } = makeCertificate(hosts);
  await writeFile(join(folder, 'cert.pem'), cert);
  await writeFile(join(folder, 'key.pem'), key);
  const port = await freePort();
  const ask = async (host: string, path: string, headers = {}, body?: string): Promise<IncomingMessage> => {
    const method = body === undefined ? 'GET' : 'POST';
    const all = { host, 'content-type': 'application/json', ...headers };
    const servername = host.split(':')[0];
    const asked = request({ port, path, method, headers: all, servername, ca: cert });
    asked.end(body);
    return ((await once(asked, 'response')) as [IncomingMessage])[0];
  };
  const status = async (...given: Parameters<typeof ask>): Promise<number | undefined> => {
    const response = await ask(...given);
    response.resume();
    return response.statusCode;
  };
  return { port, ask, status };
}
