// The listeners of which every route is asked: the public service, by itself and mounted, and the operator’s. They have a
// subscription, a broadcast that is over and a schedule, each with the id 1, and write a real log.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import Fastify, { type FastifyInstance } from 'fastify';
import { createLog } from '../../src/http/log.ts';
import { createOperator } from '../../src/operator/create-operator.ts';
import { createMetrics } from '../../src/operator/metrics/metrics.ts';
import { createSessions } from '../../src/operator/console/sessions.ts';
import { createServer, createService } from '../../src/service/create-service.ts';
import { createSessionCookie } from '../../src/service/demonstration/session.ts';
import type { ServiceOptions } from '../../src/service/options.ts';
import { createSubscriberToken } from '../../src/service/push/subscriber-token.ts';
import type { Store } from '../../src/store/store.ts';
import { collectRoutes, type Asked } from '../../test/operator/collect-routes.ts';
import { startStage } from '../../test/operator/running-operator.ts';
import { vapidPublicKey } from '../../test/service/running-service.ts';

/** A listener, and how it is asked so that handlers are reached. */
export interface Listener {
  readonly name: string;
  readonly app: FastifyInstance;
  readonly routes: readonly Asked[];
  readonly reading: Reading;
  /** Of a request that is let in: its header fields, and how its form begins. */
  credentials(path: string): Promise<Credentials>;
}

interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly formStart: string;
}

/** Names of what was read of requests. */
interface Reading {
  readonly headers: Set<string>;
  readonly query: Set<string>;
  readonly body: Set<string>;
  isNoted: boolean;
  /** To the newest request. */
  response: ServerResponse | undefined;
}

export async function startListeners(t: Pick<TestContext, 'after'>): Promise<readonly Listener[]> {
  const stage = await startStage(t, [{ user: '42', tags: ['news'] }]);
  const { store, sender } = stage;
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-cost-'));
  const log = createLog({ file: join(folder, 'log') });
  t.after(() => {
    log.close();
    rmSync(folder, { recursive: true });
  });
  const { broadcast } = await sender.createBroadcast('all', { title: 'Tea', message: 'is ready' });
  await store.broadcasts.cancel(broadcast.id);
  await sender.createSchedule('all', { title: 'Tea', message: 'is ready' }, { cron: '0 9 * * 1' });

  const where = { host: '127.0.0.1', port: 0 };
  const operator = createOperator({
    store,
    sender,
    log,
    metrics: createMetrics(store),
    hashPerson: String,
    ...where,
  });
  const sessionKey = randomBytes(32);
  const tokens = { key: randomBytes(32), audience: 'shop' };
  const options: ServiceOptions = {
    store,
    vapidPublicKey,
    sessionKey,
    receiptKey: randomBytes(32),
    subscriberTokens: { algorithm: 'HS256', ...tokens },
    logging: ['action', 'filter', 'authenticator', 'action-creator'],
    log,
  };
  const { cookie, csrfToken } = await createSessionCookie({ sessionKey, value: 'ada' });
  const token = await createSubscriberToken({ ...tokens, user: '42', tags: ['news'] });
  const ofVisitor: Credentials = {
    headers: { cookie, 'csrf-token': csrfToken, authorization: `Bearer ${token}`, host: 'push.example' },
    formStart: '',
  };
  const service = createServer(options);
  const host = Fastify();
  const ofApps = [
    ['the public service', service, async () => ofVisitor],
    ['the service in an application', host, async () => ofVisitor],
    [
      'the operator’s listener',
      operator,
      operatorCredentials(operator, store, await stage.add('ada', 'full')),
    ],
  ] as const;
  const listeners = ofApps.map(([name, app, credentials]) => ({
    name,
    app,
    routes: collectRoutes(app),
    reading: noteReading(app),
    credentials,
  }));
  host.register(createService({ ...options, prefix: '/push' }));
  for (const { app } of listeners) {
    await app.listen(where);
    t.after(() => app.close());
  }
  // Where the service is mounted, what may differ is how bodies are read.
  return listeners.map((listener) =>
    listener.app === host
      ? { ...listener, routes: listener.routes.filter(({ method }) => method !== 'GET') }
      : listener,
  );
}

/** A token for the API; for the console a session, another one once signing out has ended it. */
function operatorCredentials(app: FastifyInstance, store: Store, token: string): Listener['credentials'] {
  const sessions = createSessions(store);
  let name: string | undefined;
  return async (path) => {
    const host = `127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    if (!path.startsWith('/console/'))
      return { headers: { host, authorization: `Bearer ${token}` }, formStart: '' };
    if (name === undefined || (await sessions.find(name)) === undefined)
      name = await sessions.start(
        (await store.operators.list()).find((operator) => operator.name === 'ada')!,
      );
    const { csrfToken } = (await sessions.find(name))!;
    return {
      headers: { host, origin: `http://${host}`, cookie: `deskbell_console=${name}` },
      formStart: `csrf=${csrfToken}&`,
    };
  };
}

/** Notes what handlers and their hooks read of requests. To be called before the listener is ready. */
function noteReading(app: FastifyInstance): Reading {
  const reading: Reading = {
    headers: new Set<string>(),
    query: new Set<string>(),
    body: new Set<string>(),
    isNoted: false,
    response: undefined,
  };
  app.addHook('onRequest', (request, reply, done) => {
    reading.response = reply.raw;
    if (reading.isNoted) request.raw.headers = noting(request.raw.headers, reading.headers);
    done();
  });
  app.addHook('preHandler', (request, _reply, done) => {
    if (reading.isNoted) request.query = noting(request.query, reading.query);
    if (reading.isNoted) request.body = noting(request.body, reading.body);
    done();
  });
  return reading;
}

/** The same, with the names that are read of it. */
function noting<Part>(part: Part, names: Set<string>): Part {
  if (typeof part !== 'object' || part === null) return part;
  return new Proxy(part, {
    get: (target, name) => {
      if (typeof name === 'string') names.add(name);
      return Reflect.get(target, name) as unknown;
    },
  });
}
