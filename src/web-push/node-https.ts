// Sends a request over HTTP/1.1 with Node's own client, as the original does: where that is asked for, or an agent or a
// proxy is given, and where the transport does not take the request.
import https, { type Agent } from 'node:https';

import { createAddressPolicy } from '../transport/address-policy.ts';
import { pinTo, resolveHost, resolveWithSystem } from '../transport/address-guard.ts';
import type { DeskbellError } from '../errors/deskbell-error.ts';
import type { ResolvedAddress } from '../transport/transport.ts';
import { toNodeError, toResult } from './interpret-answer.ts';
import type { BuiltRequest } from './request-details.ts';
import type { HttpsProxyAgentOptions, SendResult } from './types.ts';

/**
 * @param isGuarded only public addresses are connected to; a proxy looks the name up again, by itself
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
    // Looked up at each call: tests of applications replace it.
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

/** @throws {Error} as Node's own look-up does */
async function resolvePublic(hostname: string): Promise<readonly ResolvedAddress[]> {
  try {
    return await resolveHost(hostname, resolveWithSystem, (address) =>
      createAddressPolicy().check(hostname, address, 'unlisted'),
    );
  } catch (error) {
    throw toNodeError(error as DeskbellError);
  }
}

/** Loaded when it is needed: most have no proxy. */
async function createProxyAgent(proxy: string | HttpsProxyAgentOptions): Promise<Agent> {
  const { HttpsProxyAgent } = await import('https-proxy-agent');
  return new HttpsProxyAgent(proxy as string) as Agent;
}
