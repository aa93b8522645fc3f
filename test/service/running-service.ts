// A real service on a port of its own with a real database, and what its tests ask it with.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createECDH, randomBytes } from 'node:crypto';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { after, before, type TestContext } from 'node:test';
import type { ErrorCode } from '../../src/errors/catalogue.ts';
import type { Problem } from '../../src/http/problem.ts';
import { createServer } from '../../src/service/create-service.ts';
import type { ServerOptions } from '../../src/service/options.ts';
import type { Store } from '../../src/store/store.ts';
import { encodeBase64url } from '../../src/protocol/bytes.ts';
import { listenOnNewPort } from '../../tools/listening.ts';
import { openTestStore, type OpenedStore } from '../store/test-database.ts';

export const vapidPublicKey = encodeBase64url(newPoint());

export type RunningService = Awaited<ReturnType<typeof startService>>;

export type LogRecord = Record<string, unknown>;

/** A log that keeps its records, in order. */
export function recordingLog() {
  const records: LogRecord[] = [];
  const keep = (record: object): void => void records.push({ ...record });
  return { records, log: { info: keep, error: keep } };
}

/** The description document of the service at this address. */
// oxlint-disable-next-line typescript/no-explicit-any
export const readDescription = async (base: string): Promise<any> =>
  (await fetch(`${base}/openapi.json`)).json();

/** The store of a suite whose tests make services of their own. */
export function openStoreForSuite(): Store {
  const store = {} as Store;
  let testStore: OpenedStore;
  before(async () => {
    testStore = await openTestStore();
    Object.assign(store, testStore.store);
  });
  after(() => testStore.remove());
  return store;
}

/** What a service of a test needs at least; it logs nothing. */
export const optionsFor = (store: Store) => ({
  store,
  vapidPublicKey,
  sessionKey: randomBytes(32),
  log: { info: (): void => {}, error: (): void => {} },
});

/** Answers requests until the test has ended. @returns the address */
export async function serveUntilEnd(t: TestContext, handler: RequestListener): Promise<string> {
  const server = createHttpServer(handler);
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${await listenOnNewPort(server)}`;
}

/** Registrations are not limited, nor do kept connections end, unless a test asks for it; a test that is handed in has the service closed behind it. */
export async function startService(options: Partial<ServerOptions> = {}, t?: Pick<TestContext, 'after'>) {
  const { store, remove } = await openTestStore();
  const sessionKey = randomBytes(32);
  const { records, log } = recordingLog();
  let app;
  try {
    app = createServer({
      store,
      vapidPublicKey,
      sessionKey,
      registrationsPerMinute: 'off',
      // A test may take its time between two requests.
      keepAliveTimeoutMs: 300_000,
      log,
      ...options,
    });
  } catch (error) {
    await remove();
    throw error;
  }
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    await app.close();
    await remove();
  };
  t?.after(close);
  return {
    app,
    port,
    base: `http://127.0.0.1:${port}${options.prefix ?? ''}`,
    store,
    sessionKey,
    /** Everything that was logged, in order. */
    records,
    close,
  };
}

/** The service of a suite: running from the first test of the suite to its last. */
export function startServiceForSuite(options?: Partial<ServerOptions>): RunningService {
  const service = {} as RunningService;
  before(async () => void Object.assign(service, await startService(options)));
  after(() => service.close());
  return service;
}

/** 65 bytes: an uncompressed point on P-256. */
export function newPoint(): Buffer {
  return createECDH('prime256v1').generateKeys();
}

/** The three strings as a browser's client code sends them: standard base64 with padding. */
export function newSubscription(): { endpoint: string; p256dh: string; auth: string } {
  return {
    endpoint: `https://updates.push.services.mozilla.com/wpush/v2/${randomBytes(24).toString('base64url')}`,
    p256dh: newPoint().toString('base64'),
    auth: randomBytes(16).toString('base64'),
  };
}

/** Every header field that the specification promises, on answers of every kind. @param ownsUnknownPaths and wrong methods */
export async function assertHeaderFields(base: string, ownsUnknownPaths: boolean): Promise<void> {
  const origin = 'https://a.example';
  const preflight = {
    'access-control-request-method': 'DELETE',
    'access-control-request-headers': 'x-any,x-other',
  };
  const text = { 'content-type': 'text/plain' };
  for (const [status, method, path, headers, isOwn] of [
    [200, 'GET', '/vapidKey', {}, true],
    [200, 'HEAD', '/vapidKey', {}, true],
    [304, 'GET', '/vapidKey', { 'if-none-match': '*' }, true],
    [204, 'OPTIONS', '/vapidKey', {}, true],
    [204, 'OPTIONS', '/vapidKey', preflight, true],
    [204, 'OPTIONS', '/webPush', preflight, true],
    [415, 'POST', '/webPush', text, true],
    [401, 'GET', '/api/get', {}, true],
    [400, 'GET', '/v1/user/x', {}, true],
    [405, 'PUT', '/vapidKey', {}, ownsUnknownPaths],
    [404, 'GET', '/nowhere/at/all', {}, ownsUnknownPaths],
    [404, 'OPTIONS', '/nowhere/at/all', {}, ownsUnknownPaths],
    [204, 'OPTIONS', '/nowhere/at/all', preflight, ownsUnknownPaths],
  ] as const) {
    if (!isOwn) continue;
    const body = method === 'POST' ? 'x' : null;
    const answer = await fetch(base + path, { method, headers: { origin, ...headers }, body });
    const what = `${method} ${path} ${JSON.stringify(headers)}: ${answer.status} ${JSON.stringify([...answer.headers])}`;
    const field = (name: string): string | null => answer.headers.get(name);
    assert.equal(answer.status, status, what);
    assert.equal(field('access-control-allow-origin'), '*', what);
    assert.match(field('access-control-expose-headers') ?? '', /\bRequest-Time\b/, what);
    assert.match(field('request-time') ?? '', /^\d+$/, what);
    assert.equal(field('access-control-max-age'), null, what);
    assert.equal(field('access-control-allow-credentials'), null, what);
    const isPreflight = headers === preflight;
    assert.equal(field('access-control-allow-methods'), isPreflight ? 'DELETE' : null, what);
    assert.equal(field('access-control-allow-headers'), isPreflight ? 'x-any,x-other' : null, what);
    if (status < 400 && path === '/vapidKey' && method !== 'OPTIONS') {
      assert.equal(field('cache-control'), 'no-cache', what);
      assert.match(field('etag') ?? '', /^"[\w-]{22}"$/, what);
    }
    if (status === 405) assert.equal(field('allow'), 'GET, HEAD, OPTIONS', what);
    if (status >= 400) assert.equal(field('content-type'), 'application/problem+json', what);
  }
}

export function sendJson(
  base: string,
  method: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(base + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** @returns the problem of an answer with this status and code */
export async function assertProblem(
  answer: Response | Promise<Response>,
  status: number,
  code: ErrorCode,
): Promise<Problem> {
  const response = await answer;
  assert.equal(response.headers.get('content-type'), 'application/problem+json');
  const problem = (await response.json()) as Problem;
  assert.deepEqual([response.status, problem.status, problem.code], [status, status, code]);
  return problem;
}

/** Writes bytes to a connection of its own and gives everything that came back when the service has closed it. */
export async function exchange(port: number, bytes: string | Uint8Array): Promise<string> {
  const socket = await openConnection(port);
  socket.write(bytes);
  return readToEnd(socket);
}

export async function openConnection(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  // How a connection ends is what tests look at; a reset is one of the ways.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** A connection with both of its ends. */
export async function connectTo(
  { server }: Pick<RunningService['app'], 'server'>,
  port: number,
): Promise<{ readonly socket: Socket; readonly served: Socket }> {
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const socket = await openConnection(port);
  const [served] = await accepted;
  return { socket, served };
}

export async function readToEnd(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(chunks).toString('latin1');
}
