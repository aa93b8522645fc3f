// All routes of both listeners against each other: nothing of the operator's side is reached over the public listener, without a
// token, or from another origin, and nothing of the public service is on the operator's side.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createServer } from '../../src/service/create-service.ts';
import { createOperator } from '../../src/operator/create-operator.ts';
import { createMetrics } from '../../src/operator/metrics/metrics.ts';
import { vapidPublicKey } from '../service/running-service.ts';
import { collectRoutes, type Asked } from './collect-routes.ts';
import { startOperator } from './running-operator.ts';

const nameOf = ({ method, path }: Asked): string => `${method} ${path}`;

interface Answer {
  readonly status: number;
  readonly location: string | undefined;
  readonly text: string;
}

/** With any header, `host` and `origin` too. */
function ask(
  port: number,
  { method, path }: Pick<Asked, 'method' | 'path'>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', method, path, headers, agent: false }, (response) => {
      const { statusCode: status = 0 } = response;
      const { location } = response.headers;
      // A stream of events has no end of its own.
      if (response.headers['content-type'] === 'text/event-stream') {
        response.destroy();
        return resolve({ status, location, text: '' });
      }
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ status, location, text }));
    })
      .on('error', reject)
      .end();
  });
}

test('all routes of both listeners against each other', async (t) => {
  const { store, sender, add } = await startOperator(t);
  const log = { info: () => {}, error: () => {} };
  const where = { host: '127.0.0.1', port: 0 };
  const publicService = createServer({
    store,
    vapidPublicKey,
    sessionKey: randomBytes(32),
    receiptKey: randomBytes(32),
    registrationsPerMinute: 'off',
    logging: [],
    log,
  });
  const metrics = createMetrics(store);
  const operator = createOperator({ store, sender, log, metrics, hashPerson: String, ...where });
  const publicRoutes = collectRoutes(publicService);
  const operatorRoutes = collectRoutes(operator);
  for (const app of [publicService, operator]) {
    await app.listen(where);
    t.after(() => app.close());
  }
  const [publicPort, operatorPort] = [publicService, operator].map(
    (app) => (app.server.address() as AddressInfo).port,
  ) as [number, number];
  assert(publicRoutes.length > 20 && operatorRoutes.length > 40);
  const authorization = `Bearer ${await add('shop', 'full')}`;
  const publicNames = new Set(publicRoutes.map(nameOf));
  const operatorNames = new Set(operatorRoutes.map(nameOf));
  const shared = [...operatorNames].filter((name) => publicNames.has(name)).toSorted();
  assert.deepEqual(shared, ['GET /', 'GET /openapi.json', 'HEAD /', 'HEAD /openapi.json']);

  await t.test('the public listener has no route of the operator’s, with a token either', async () => {
    for (const route of operatorRoutes.filter((known) => !shared.includes(nameOf(known)))) {
      const { status } = await ask(publicPort, route, { authorization });
      assert.equal(status, 404, nameOf(route));
    }
    const { text } = await ask(publicPort, { method: 'GET', path: '/openapi.json' }, { authorization });
    assert(!text.includes('/v1/messages'));
  });

  await t.test('without a token the operator’s listener shows its sign-in page and files alone', async () => {
    for (const route of operatorRoutes) {
      const { status, location } = await ask(operatorPort, route);
      if (route.isOpen) continue;
      const isRefused = status === 401 || status === 403;
      const isLedAway = status === 303 && /^\/console\/(?:sign-in|$)/.test(location ?? '');
      assert(isRefused || isLedAway, `${nameOf(route)}: ${status}`);
    }
    const open = new Set(operatorRoutes.filter(({ isOpen }) => isOpen).map(nameOf));
    for (const name of open) assert.match(name, /^(?:GET|HEAD|POST) \/console\/(?:sign-in$|[\w.-]+\.\w+$)/);
  });

  await t.test(
    'from another origin and under another host nothing of it answers, with a token either',
    async () => {
      for (const route of operatorRoutes) {
        const ofPublic = { authorization, origin: `http://127.0.0.1:${publicPort}` };
        assert.equal((await ask(operatorPort, route, ofPublic)).status, 403, nameOf(route));
        const rebound = { authorization, host: `evil.example:${operatorPort}` };
        assert.equal((await ask(operatorPort, route, rebound)).status, 421, nameOf(route));
      }
    },
  );

  await t.test('the operator’s listener has no route of the public service', async () => {
    for (const route of publicRoutes.filter((known) => !shared.includes(nameOf(known)))) {
      const { status } = await ask(operatorPort, route, { authorization });
      assert([404, 405].includes(status), `${nameOf(route)}: ${status}`);
    }
  });
});

test('a route that does not say what it changes, or what it is, cannot be added', async (t) => {
  const { store, sender } = await startOperator(t);
  const log = { info: () => {}, error: () => {} };
  const app = createOperator({
    store,
    sender,
    log,
    metrics: createMetrics(store),
    hashPerson: String,
    host: '127.0.0.1',
    port: 0,
  });
  assert.throws(() => app.post('/v1/unsaid', async () => ''), /does not say what it changes/);
  await app.close();
});
