// Sends a request over HTTP/1.1 with Node's own client, as the original does: if asked to, with an agent or a proxy,
// and if the transport does not take the request.
import https, { type Agent } from 'node:https';

import { createAddressPolicy, pinTo, resolveHost, resolveWithSystem } from '../transport/address-policy.ts';
import type { DeskbellError } from '../errors/deskbell-error.ts';
import type { ResolvedAddress } from '../transport/transport.ts';
import { toNodeError, toResult } from './errors.ts';
import type { BuiltRequest } from './request-details.ts';
import type { HttpsProxyAgentOptions, SendResult } from './types.ts';

/**
 * @param isGuarded connect only to public addresses; a proxy resolves the name by itself
 * @throws {WebPushError} the status is not from 200 to 299
 * @throws {Error} from Node: connection, TLS, time-out
 * @throws {DeskbellError} ERR_ADDRESS_BLOCKED
 */
export async function sendWithNodeHttps(details: BuiltRequest, isGuarded: boolean): Promise<SendResult> {
  const { endpoint, method, headers, body, timeout, proxy } = details;
  const { hostname, port, pathname, search } = new URL(endpoint);
  const addresses = isGuarded ? await resolvePublic(hostname) : undefined;
  const lookup = addresses && pinTo(addresses);
  const agent = proxy === undefined ? details.agent : await createProxyAgent(proxy);
  const target = { hostname, port, path: pathname + search, method, headers };
  return new Promise((resolve, reject) => {
    // https.request is read at each call, since applications' tests replace it
    const request = https.request({ ...target, agent, timeout, ...(lookup && { lookup }) }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode = 0 } = response;
        toResult(endpoint, statusCode, response.headers as SendResult['headers'], text).then(resolve, reject);
      });
    });
    if (timeout) request.on('timeout', () => request.destroy(new Error('Socket timeout')));
    request.on('error', reject);
    request.end(body ?? undefined);
  });
}

async function resolvePublic(hostname: string): Promise<readonly ResolvedAddress[]> {
  try {
    return await resolveHost(hostname, resolveWithSystem, (address) =>
      createAddressPolicy().check(hostname, address, 'unlisted'),
    );
  } catch (error) {
    throw toNodeError(error as DeskbellError);
  }
}

async function createProxyAgent(proxy: string | HttpsProxyAgentOptions): Promise<Agent> {
  const { HttpsProxyAgent } = await import('https-proxy-agent');
  return new HttpsProxyAgent(proxy as string) as Agent;
}
