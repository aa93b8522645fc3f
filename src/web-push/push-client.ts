// Sends over Deskbell's transport. The messages of one turn of the event loop are encrypted in one batch and written
// together.
//
// prepared → WAITING (while its push service has `maxHandedOver` messages) → gathered → encrypted → transport → result
//
// As with `web-push`, an application may start any number of messages at once. Waiting messages hold no connection and
// no encrypted body, and their time-outs have not started.
import https, { type Agent } from 'node:https';
import { loadAccelerator } from '../accelerator/load-accelerator.ts';
import { gatherTurn } from '../delivery/single/gather.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { EncryptBatch } from '../protocol/message-encryption.ts';
import { createAddressPolicy, pinTo, resolveHost, resolveWithSystem } from '../transport/address-policy.ts';
import { checkHeaders, maxTimeoutMs } from '../transport/check-options.ts';
import { createTransport, type Transport } from '../transport/create-transport.ts';
import { Fifo } from '../transport/fifo.ts';
import { maxLimit } from '../transport/pacing.ts';
import type { PushHeaders, ResolvedAddress } from '../transport/transport.ts';
import { type BuiltRequest, completeRequest, type PreparedRequest } from './request-details.ts';
import { type HttpsProxyAgentOptions, readResult, type SendResult, toNodeError, toResult } from './types.ts';

const maxHandedOver = maxLimit;
const maxTransports = 8;
const emptyBody = new Uint8Array();

export type PushClient = ReturnType<typeof createPushClient>;

interface Waiting {
  readonly prepared: PreparedRequest;
  readonly url: URL;
  readonly fields: PushHeaders;
  readonly isGuarded: boolean;
  readonly resolve: (result: SendResult | PromiseLike<SendResult>) => void;
  readonly reject: (error: unknown) => void;
}

interface HostQueue {
  handedOver: number;
  readonly waiting: Fifo<Waiting>;
}

export function createPushClient() {
  const queues = new Map<string, HostQueue>();
  const findTransport = createTransports();
  const share = createHeaderSharing();
  let encryptBatch: EncryptBatch | undefined;

  const gathering = gatherTurn<Waiting>((messages) => {
    encryptBatch ??= loadAccelerator().encryptBatch;
    const bodies = encryptAll(messages, encryptBatch);
    for (const [index, message] of messages.entries()) handOver(message, bodies[index]!);
  });

  const handOver = (message: Waiting, body: Uint8Array | Error): void => {
    const { prepared, url, fields, isGuarded } = message;
    const { endpoint, timeout } = prepared.details;
    if (Error.isError(body)) {
      message.reject(body);
      release(url.host);
      return;
    }
    const request = {
      // `web-push` always connects with TLS, whatever the scheme.
      origin: `https://${url.host.replace(/:443$/, '')}`,
      path: url.pathname + url.search,
      headers: share(fields),
      body,
    };
    findTransport(timeout, isGuarded).send(request, (result) => {
      message.resolve(readResult(endpoint, result));
      release(url.host);
    });
  };

  const release = (host: string): void => {
    const queue = queues.get(host)!;
    const next = queue.waiting.shift();
    if (next !== undefined) gathering.add(next);
    else if (queue.handedOver > 1) queue.handedOver -= 1;
    else queues.delete(host);
  };

  const enqueue = (message: Waiting): void => {
    const { host } = message.url;
    const queue = queues.get(host) ?? { handedOver: 0, waiting: new Fifo() };
    queues.set(host, queue);
    if (queue.handedOver === maxHandedOver) queue.waiting.push(message);
    else {
      queue.handedOver += 1;
      gathering.add(message);
    }
  };

  return {
    async send(prepared: PreparedRequest, isGuarded: boolean): Promise<SendResult> {
      const { details, transport } = prepared;
      const fields = readFields(details.headers);
      const isForNode = transport === 'node' || details.agent || details.proxy;
      if (isForNode || fields === undefined || !isTimeout(details.timeout)) {
        return sendWithNodeHttps(completeRequest(prepared), isGuarded);
      }
      const url = new URL(details.endpoint);
      return new Promise((resolve, reject) => {
        enqueue({ prepared, url, fields, isGuarded, resolve, reject });
      });
    },
  };
}

const isTimeout = (ms: number | undefined): boolean => ms === undefined || (ms > 0 && ms <= maxTimeoutMs);

/** Keeps one transport for each combination of time-out and address guard, because a transport cannot change these. */
function createTransports() {
  const transports = new Map<string, Transport>();
  return (timeoutMs: number | undefined, isGuarded: boolean): Transport => {
    const key = `${timeoutMs} ${isGuarded}`;
    const found = transports.get(key);
    if (found !== undefined) return found;
    const [oldest] = transports.keys();
    if (transports.size === maxTransports && oldest !== undefined) {
      void transports.get(oldest)?.close(maxTimeoutMs);
      transports.delete(oldest);
    }
    const timeouts =
      timeoutMs === undefined ? {} : { connectTimeoutMs: timeoutMs, responseTimeoutMs: timeoutMs };
    // No circuit breaker: as with `web-push`, the application decides what to send and when.
    const transport = createTransport(timeouts, { guardsAddresses: isGuarded, hasBreaker: false });
    transports.set(key, transport);
    return transport;
  };
}

/** Encrypts in one batch. A message that the batch refuses is encrypted as in `web-push`, or its error is returned. */
function encryptAll(
  messages: readonly Waiting[],
  encryptBatch: EncryptBatch,
): readonly (Uint8Array | Error)[] {
  const encrypted = encryptBatch(
    messages.flatMap(({ prepared: { plaintext } }) => {
      if (plaintext === undefined) return [];
      const { payload, keys } = plaintext;
      return {
        plaintext: typeof payload === 'string' ? Buffer.from(payload) : payload,
        subscription: {
          p256dh: Buffer.from(keys.p256dh, 'base64url'),
          auth: Buffer.from(keys.auth, 'base64url'),
        },
      };
    }),
  ).values();
  return messages.map(({ prepared }) => {
    if (prepared.plaintext === undefined) return prepared.details.body ?? emptyBody;
    const body = encrypted.next().value!;
    return body instanceof DeskbellError ? encryptAlone(prepared) : body;
  });
}

function encryptAlone(prepared: PreparedRequest): Uint8Array | Error {
  try {
    return completeRequest(prepared).body ?? emptyBody;
  } catch (error) {
    return error as Error;
  }
}

const maxSharedHeaders = 256;

/**
 * Converts header fields for the transport. If two names differ only in case, the last field counts, as in Node.
 *
 * @returns `undefined` if the transport cannot send a field; Node's client must then send the request
 */
function readFields(headers: Readonly<Record<string, unknown>>): PushHeaders | undefined {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string' && typeof value !== 'number') return undefined;
    const field = name.toLowerCase();
    if (field !== 'content-length') fields[field] = String(value);
  }
  return checkHeaders(fields) === undefined ? fields : undefined;
}

/** Returns the same object for equal header fields, because the transport encodes each object only once. */
function createHeaderSharing(): (fields: PushHeaders) => PushHeaders {
  const shared = new Map<string, PushHeaders>();
  return (fields) => {
    const key = JSON.stringify(fields);
    const found = shared.get(key);
    if (found !== undefined) return found;
    if (shared.size === maxSharedHeaders) shared.clear();
    shared.set(key, fields);
    return fields;
  };
}

// Sends a request over HTTP/1.1 with Node's own client, as `web-push` does. This is used if the application gives an
// agent or a proxy or asks for Node's client, or if the transport cannot send the request.

/**
 * @param isGuarded connect only to public addresses, except through a proxy, which resolves names itself
 * @throws {WebPushError} if the status is outside 200 to 299
 * @throws {Error} from Node, for the connection, TLS or a time-out
 * @throws {DeskbellError} ERR_ADDRESS_BLOCKED
 */
async function sendWithNodeHttps(details: BuiltRequest, isGuarded: boolean): Promise<SendResult> {
  const { endpoint, method, headers, body, timeout, proxy } = details;
  const { hostname, port, pathname, search } = new URL(endpoint);
  const addresses = isGuarded ? await resolvePublic(hostname) : undefined;
  const lookup = addresses && pinTo(addresses);
  const agent = proxy === undefined ? details.agent : await createProxyAgent(proxy);
  const target = { hostname, port, path: pathname + search, method, headers };
  return new Promise((resolve, reject) => {
    // look up https.request at each call, because tests of applications replace it
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
      createAddressPolicy()(hostname, address, 'unlisted'),
    );
  } catch (error) {
    throw toNodeError(error as DeskbellError);
  }
}

async function createProxyAgent(proxy: string | HttpsProxyAgentOptions): Promise<Agent> {
  const { HttpsProxyAgent } = await import('https-proxy-agent');
  return new HttpsProxyAgent(proxy as string) as Agent;
}
