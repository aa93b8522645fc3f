// A real operator's listener on a port of its own, with a real database, a real push service and a sender between them.
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { createSender, type Sender, type SenderOptions } from '../../src/delivery/sender.ts';
import { describeRoutes, type OperationObject } from '../../src/http/description/openapi-document.ts';
import type { Responses } from '../../src/http/description/operation.ts';
import { problemType } from '../../src/http/problem.ts';
import { generateOperatorToken } from '../../src/keys/secret-files.ts';
import { operatorDescription } from '../../src/operator/api/add-api.ts';
import { createMetrics, type Metrics } from '../../src/operator/metrics/metrics.ts';
import { createOperator, type OperatorOptions } from '../../src/operator/create-operator.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import { createUserAgent } from '../../src/push-service/browser-side/user-agent.ts';
import { startPushService } from '../../src/push-service/start-push-service.ts';
import type { UserAndTags } from '../../src/audience/user-and-tags.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import type { OperatorRole } from '../../src/store/operators.ts';
import type { Store } from '../../src/store/store.ts';
import { openTestStore } from '../store/test-database.ts';
import { collectRoutes, type Asked } from './collect-routes.ts';

export interface RunningOperator {
  readonly app: FastifyInstance;
  readonly routes: readonly Asked[];
  readonly base: string;
  readonly port: number;
  readonly store: Store;
  readonly sender: Sender;
  /** Everything that was logged, in order. */
  readonly records: object[];
  /** Adds an operator. @returns its token */
  add(name: string, role: OperatorRole): Promise<string>;
  /** A request with the token of an operator that may do everything. */
  ask(path: string, options?: AskOptions): Promise<Response>;
  /** The same, for the JSON of an answer that has to be a success. */
  read<Body = unknown>(path: string, options?: AskOptions): Promise<Body>;
}

export interface AskOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** By this clock of the store, a sender that has reported stays, however long a test takes. */
export function stoppedClock(): () => number {
  const nowMs = Date.now();
  return () => nowMs;
}

interface StartOptions extends Partial<OperatorOptions> {
  readonly senderOptions?: Partial<SenderOptions>;
  /** Default: without anything of the machine. */
  readonly metricsOf?: (store: Store) => Metrics;
  /** The clock of the store. */
  readonly now?: (() => number) | undefined;
}

export const silentLog = { info: () => {}, error: () => {} };

/** What a listener needs at least: without anything of the machine, on a port of its own. */
export const optionsOf = (store: Store, sender: Sender) => ({
  store,
  sender,
  log: silentLog,
  metrics: createMetrics(store),
  hashPerson: (user: string) => `#${user.length}`,
  host: '127.0.0.1',
  port: 0,
});

export async function startOperator(
  t: Pick<TestContext, 'after'>,
  options: StartOptions = {},
): Promise<RunningOperator> {
  const { store, remove } = await openTestStore(options.now);
  const keys = generateVapidKeys();
  await store.vapidKeys.adopt(keys.publicKey);
  const sender = createSender({
    vapid: { ...keys, subject: 'mailto:push@example.org' },
    store,
    threads: 0,
    ...options.senderOptions,
  });
  const records: object[] = [];
  const log = {
    info: (record: object) => records.push(record),
    error: (record: object) => records.push(record),
  };
  const { metricsOf = createMetrics, ...given } = options;
  const all = { ...optionsOf(store, sender), log, metrics: metricsOf(store), ...given };
  const app = createOperator(all);
  const routes = collectRoutes(app);
  // A test may take its time between two requests: no kept connection ends just when `fetch` writes the next one to it.
  app.server.keepAliveTimeout = 0;
  const problems = collectProblems(app);
  await app.listen({ host: all.host, port: all.port });
  t.after(async () => {
    await app.close();
    await sender.close();
    await remove();
  });
  const { port } = app.server.address() as AddressInfo;
  const base = `http${options.tls === undefined ? '' : 's'}://127.0.0.1:${port}`;

  const add = async (name: string, role: OperatorRole): Promise<string> => {
    const { token, tokenHash } = generateOperatorToken();
    await store.operators.add({ name, role, tokenHash });
    return token;
  };
  const ownToken = await add('tester', 'full');
  let operations: readonly OperationObject[] | undefined;
  const ask = async (path: string, { method = 'GET', body, headers = {}, signal }: AskOptions = {}) => {
    const response = await fetch(base + path, {
      method,
      headers: {
        authorization: `Bearer ${ownToken}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
    if (problems.length > 0) assertDescribed(problems.splice(0), (operations ??= operationsOf(routes)));
    return response;
  };
  const read = async <Body>(path: string, askOptions?: AskOptions): Promise<Body> => {
    const response = await ask(path, askOptions);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return JSON.parse(text) as Body;
  };
  return { app, routes, base, port, store, sender, records, add, ask, read };
}

/** A problem that an operation of the API has answered. */
interface AnsweredProblem {
  readonly operationId: string;
  readonly status: number;
  readonly code: string;
}

/** To be called before the listener is ready. */
function collectProblems(app: FastifyInstance): AnsweredProblem[] {
  const problems: AnsweredProblem[] = [];
  app.addHook('onSend', async ({ routeOptions }, reply, payload) => {
    const operationId = routeOptions.config.operation?.operationId;
    if (operationId === undefined || reply.getHeader('content-type') !== problemType) return;
    const { code } = JSON.parse(String(payload)) as { readonly code: string };
    problems.push({ operationId, status: reply.statusCode, code });
  });
  return problems;
}

function operationsOf(routes: readonly Asked[]): readonly OperationObject[] {
  const options = routes.map((route) => route.options);
  const { paths } = describeRoutes(options, '', operatorDescription);
  return Object.values(paths).flatMap((methods) => Object.values(methods));
}

function assertDescribed(problems: readonly AnsweredProblem[], operations: readonly OperationObject[]): void {
  for (const { operationId, status, code } of problems) {
    const { responses } = operations.find((operation) => operation.operationId === operationId)!;
    const response = (responses as Responses)[status]?.content?.[problemType];
    assert.ok(
      response?.examples && code in response.examples,
      `${operationId}: ${status} ${code} is not described`,
    );
  }
}

/** A listener with a push service and as many subscribed user agents as there are owners. */
export async function startStage(
  t: Pick<TestContext, 'after'>,
  owners: readonly UserAndTags[] = [{}],
  { now, senderOptions }: Pick<StartOptions, 'now' | 'senderOptions'> = {},
) {
  const pushService = await startPushService();
  const operator = await startOperator(t, {
    now,
    senderOptions: { pushServices: [pushService.origin], ...senderOptions },
  });
  const { store } = operator;
  const publicKey = (await store.vapidKeys.current())!;
  const userAgent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
  const policy = createEndpointPolicy([pushService.origin]);
  for (const owner of owners) {
    const subscription = parseSubscription(await userAgent.subscribe(publicKey), policy);
    await store.subscriptions.put(subscription, publicKey, { assign: owner });
  }
  t.after(() => userAgent.close());
  t.after(() => pushService.close());
  return { ...operator, pushService, userAgent };
}

export const codeOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { readonly code: string }).code;
