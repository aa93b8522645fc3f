// The four logging mechanisms: what each can and cannot see, cell by cell of the specification's table, and the order
// of their records whatever becomes of a request.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import Fastify, { type FastifyInstance } from 'fastify';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { prepareScope } from '../../src/service/create-service.ts';
import {
  type ActionCreator,
  ActionRequest,
  createActionLogging,
  createLoggingActionCreator,
  type LoggingMechanism,
  useActionCreator,
} from '../../src/service/demonstration/logging-mechanisms.ts';
import { type Authenticator, enforceAuthenticators } from '../../src/service/demonstration/authenticator.ts';
import { enableFilters, type Filter } from '../../src/http/filter.ts';
import { resolveOptions, serverChecks, type ServerOptions } from '../../src/service/options.ts';
import { createSessionCookie } from '../../src/service/demonstration/session.ts';
import {
  assertProblem,
  connectTo,
  type LogRecord,
  newSubscription,
  openStoreForSuite,
  optionsFor,
  recordingLog,
  type RunningService,
  sendJson,
  startService,
  startServiceForSuite,
} from './running-service.ts';
import { until } from '../../tools/until.ts';

const allFour: readonly LoggingMechanism[] = ['action', 'filter', 'authenticator', 'action-creator'];
const withoutAuthenticator = [
  'action-creator request',
  'action result',
  'action-creator result',
  'filter result',
];
const secrets = {
  body: 'body-marker-5b1d',
  session: 'session-marker-90aa',
  response: 'response-marker-c3f7',
};

/**
 * Everything that can be reached from a value: own properties of all kinds, prototypes, what getters return.
 */
function reach(value: unknown, seen = new Set<unknown>()): string {
  if (typeof value === 'string') return `${value}\n`;
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value))
    return '';
  seen.add(value);
  let text = inspect(value, { depth: 2, showHidden: true });
  for (let holder: object | null = value; holder !== null; holder = Object.getPrototypeOf(holder)) {
    if (holder === Object.prototype || holder === Function.prototype) break;
    for (const key of Reflect.ownKeys(holder)) {
      const { get, value: member } = Object.getOwnPropertyDescriptor(holder, key)!;
      text += reach(get ? attempt(() => get.call(value)) : member, seen);
    }
  }
  return text;
}

function attempt(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}

describe('what each mechanism can see', () => {
  const sees: Record<LoggingMechanism, Record<'request' | 'body' | 'session' | 'response', boolean>> = {
    action: { request: true, body: true, session: true, response: true },
    filter: { request: true, body: false, session: false, response: false },
    authenticator: { request: true, body: true, session: true, response: false },
    'action-creator': { request: true, body: true, session: true, response: false },
  };
  /** By mechanism, the text of everything that can be reached from what it was handed. */
  const handed = new Map<LoggingMechanism, string>();
  const hand = (mechanism: LoggingMechanism, value: unknown): void => {
    handed.set(mechanism, (handed.get(mechanism) ?? '') + reach(value));
  };
  const spyFilter: Filter = (head) => {
    hand('filter', head);
    return (response) => hand('filter', response);
  };
  const spyAuthenticator: Authenticator = (request) => {
    hand('authenticator', request);
    return 'pass';
  };
  const spyCreator: ActionCreator = async (request, action) => {
    hand('action-creator', request);
    const result = await action();
    hand('action-creator', result);
    return result;
  };
  let app: FastifyInstance;

  before(async () => {
    const readSession = (): Record<string, string> => ({ SESSION: secrets.session });
    const inAction = createActionLogging({ info: (record) => hand('action', record) });
    app = Fastify();
    enableFilters(app, [spyFilter]);
    enforceAuthenticators(app, readSession);
    useActionCreator(app, spyCreator, readSession);
    app.post('/seen', { config: { authenticator: spyAuthenticator } }, (request) =>
      inAction(new ActionRequest(request, readSession), () => ({ answer: secrets.response })),
    );
    const base = await app.listen({ port: 0 });
    const answer = await sendJson(base, 'POST', '/seen?a=1', { secret: secrets.body });
    assert.deepEqual(await answer.json(), { answer: secrets.response });
  });
  after(() => app.close());

  for (const [mechanism, cells] of Object.entries(sees) as [LoggingMechanism, (typeof sees)['action']][]) {
    for (const [column, isSeen] of Object.entries(cells) as [keyof typeof cells, boolean][]) {
      const title = column === 'request' ? 'the request method and URL' : `the ${column}`;
      test(`${mechanism}: ${title} ${isSeen ? 'is' : 'is not'} to be seen`, () => {
        const text = handed.get(mechanism)!;
        const markers = column === 'request' ? ['POST', '/seen?a=1'] : [secrets[column]];
        for (const marker of markers) assert.equal(text.includes(marker), isSeen);
      });
    }
  }

  test('an action creator cannot answer anything but the entity that it was handed', async () => {
    const forger = Fastify();
    useActionCreator(
      forger,
      async (_request, action) => ({ ...(await action()), entity: {} }),
      () => ({}),
    );
    forger.get('/', () => 'the answer');
    const response = await forger.inject('/');
    assert.equal(response.statusCode, 500);
    await forger.close();
  });
});

describe('the records of a request', () => {
  const service = startServiceForSuite({ logging: allFour });
  let cookie: string;

  before(async () => {
    ({ cookie } = await createSessionCookie({ sessionKey: service.sessionKey, value: secrets.session }));
  });
  afterEach(() => service.records.splice(0));

  test('end with the filter alone where the authenticator refuses', async () => {
    const response = await ask(service, '/api/get');
    assert.equal(response.status, 401);
    assert.deepEqual(order(service.records), ['authenticator request', 'filter result']);
  });

  test('are the filter’s alone where the CSRF check refuses', async () => {
    const response = await ask(service, '/v1/user/1', { method: 'PUT', headers: { cookie } });
    assert.equal(response.status, 403);
    assert.deepEqual(order(service.records), ['filter result']);
  });

  for (const [what, path, method] of [
    ['an unknown route', '/api/nothing', 'GET'],
    ['a method that is not allowed', '/api/get', 'PATCH'],
    ['a URL that cannot be decoded', '/api/%E0%A4', 'GET'],
    ['a preflight', '/api/get', 'OPTIONS'],
    ['a file', '/service-worker.js', 'GET'],
  ] as const) {
    test(`are the filter’s alone for ${what}`, async () => {
      await ask(service, path, { method });
      assert.deepEqual(order(service.records), ['filter result']);
      assert.equal(service.records[0]!['method'], method);
      assert.equal(service.records[0]!['url'], path);
    });
  }

  test('say method, URL and what the mechanism sees', async () => {
    const response = await sendJson(service.base, 'POST', '/api/post?x=1', { a: secrets.body }, { cookie });
    await response.text();
    const head = { method: 'POST', url: '/api/post?x=1' };
    const inside = { ...head, body: { a: secrets.body }, session: { SESSION: secrets.session } };
    const [authenticator, creatorBefore, action, creatorAfter, filter] = service.records;
    assert.deepEqual(authenticator, {
      mechanism: 'authenticator',
      phase: 'request',
      ...inside,
      verdict: 'pass',
    });
    assert.deepEqual(creatorBefore, { mechanism: 'action-creator', phase: 'request', ...inside });
    assert.deepEqual(action, {
      mechanism: 'action',
      phase: 'result',
      ...inside,
      result: 'This is the answer to post.',
    });
    assert.deepEqual(creatorAfter, { mechanism: 'action-creator', phase: 'result', ...inside });
    const { elapsedMs, ...rest } = filter!;
    assert.deepEqual(rest, { mechanism: 'filter', phase: 'result', ...head, status: 200 });
    assert.ok(Number.isInteger(elapsedMs));
  });

  test('are the filter’s alone where a client is gone before its body is whole', async () => {
    const { socket, served } = await connectTo(service.app, service.port);
    const begun =
      'POST /api/post HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{';
    socket.write(begun);
    await until(() => served.bytesRead >= begun.length, 'the request to be read');
    socket.destroy();
    await until(() => service.records.length > 0, 'the record of a request that broke off');
    assert.deepEqual(order(service.records), ['filter result']);
    assert.equal(service.records[0]!['isAborted'], true);
  });
});

const noSession = () => ({});

describe('the order with other actions', () => {
  const store = openStoreForSuite();

  /** @param work what GET /api/get does */
  async function startWith(t: TestContext, work: () => unknown) {
    const { records, log } = recordingLog();
    const options: ServerOptions = { ...optionsFor(store), logging: allFour, authenticate: 'none', log };
    const settings = resolveOptions(options, serverChecks, (request) => request);
    const app = Fastify();
    t.after(() => app.close());
    prepareScope(app, { ...settings, ownsConnections: true, ownsUnknownPaths: true });
    const inAction = createActionLogging(log);
    useActionCreator(app, createLoggingActionCreator(log), noSession);
    app.get('/api/get', (request) => inAction(new ActionRequest(request, noSession), work));
    return { app, base: await app.listen({ port: 0 }), records };
  }

  test('stays the same where the action fails, and the failure is a 500 that says nothing', async (t) => {
    const { base, records } = await startWith(t, () => {
      throw new Error('secret internals');
    });
    const response = await fetch(`${base}/api/get`);
    assert.equal(response.status, 500);
    assert.doesNotMatch(await response.text(), /secret|internals|stack|\.ts/);
    const mechanisms = records.filter(({ mechanism }) => mechanism !== undefined);
    assert.deepEqual(order(mechanisms), withoutAuthenticator);
    assert.match(String(mechanisms[1]!['failure']), /secret internals/, 'the action sees why it failed');
    assert.equal(mechanisms[2]!['failure'], true, 'the action creator sees that it failed');
    // an action may choose the answer to its own failure
    const own = await startWith(t, () => {
      throw new DeskbellError('ERR_FORBIDDEN', 'Not today.');
    });
    assert.equal((await fetch(`${own.base}/api/get`)).status, 403);
  });

  test('stays the same where the client is gone while the action works', async (t) => {
    const finish = Promise.withResolvers<string>();
    const { app, base, records } = await startWith(t, () => finish.promise);
    const { socket, served } = await connectTo(app, Number(new URL(base).port));
    socket.write('GET /api/get HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => records.length === 1, 'the action creator’s first record');
    socket.destroy();
    await until(() => served.closed, 'the service to notice');
    finish.resolve('nobody hears it');
    await until(() => records.length === 4, 'the remaining records');
    assert.deepEqual(order(records), withoutAuthenticator);
    assert.equal(records[3]!['isAborted'], true);
  });
});

describe('a log of the application that throws loses records, not answers:', () => {
  test('a record of each mechanism, and one of a registration', async (t) => {
    const log = { info: fail, error: fail, flush: fail };
    const service = await startService({ logging: allFour, log }, t);
    const { cookie } = await createSessionCookie({ sessionKey: service.sessionKey, value: 'x' });
    assert.equal((await ask(service, '/api/get', { headers: { cookie } })).status, 200);
    await assertProblem(ask(service, '/nowhere'), 404, 'ERR_ROUTE_UNKNOWN');
    assert.equal((await sendJson(service.base, 'POST', '/webPush', newSubscription())).status, 200);
    assert.equal(await service.store.subscriptions.count(), 1);
  });

  test('an error that is not foreseen', async (t) => {
    const service = await startService({ log: { info: fail, error: fail }, onSubscribe: fail }, t);
    const response = await sendJson(service.base, 'POST', '/webPush', newSubscription());
    assert.equal(response.status, 500);
    const text = await response.text();
    assert.match(text, /"code":"ERR_INTERNAL"/);
    assert.doesNotMatch(text, /log-marker/);
  });
});

function fail(): never {
  throw new Error('log-marker-41d0');
}

async function ask(service: RunningService, path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(service.base + path, init);
  await response.clone().arrayBuffer();
  return response;
}

function order(records: readonly LogRecord[]): string[] {
  return records.map(({ mechanism, phase }) => `${mechanism} ${phase}`);
}
