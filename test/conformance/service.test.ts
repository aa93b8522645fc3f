// The specification's sentences about what the service is and does, its resources, endpoints, errors and versions.
// Each title is the meaning of a sentence; the site’s page of conformance is made from them.
import assert from 'node:assert/strict';
import { createECDH, ECDH } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import { readKeyFile } from '../../src/keys/vapid-key-files.ts';
import type { Problem } from '../../src/http/problem.ts';
import { openExampleUsers } from '../../src/service/demonstration/users.ts';
import { createSessionCookie } from '../../src/service/demonstration/session.ts';
import { spawnUntilStopped, temporaryFolder } from '../cli/run-command.ts';
import { readDescription, sendJson } from '../service/running-service.ts';
import { startConformanceService, subscribe, type ConformanceService } from './conformance-service.ts';
import { pluck } from '../../tools/pluck.ts';

const demoRequests = [
  ['GET', '/api/get', undefined],
  ['GET', '/api/getWithArg/x', undefined],
  ['POST', '/api/post', { any: 'object' }],
] as const;

let service: ConformanceService;
before(async () => {
  service = await startConformanceService();
});
after(() => service[Symbol.asyncDispose]());

/** Starts the real command; it is stopped after the test that asks for it. */
async function startServe(words: readonly string[]) {
  const data = await temporaryFolder();
  const command = spawnUntilStopped(['serve', '--json', '--port', '0', '--data', data, ...words]);
  const [line] = await command.waitFor(/^.*"address".*$/);
  return { command, data, address: (JSON.parse(line) as { address: string }).address };
}

function spin(leastMs: number): void {
  const endMs = performance.now() + leastMs;
  while (performance.now() < endMs);
}

describe('What the service does', () => {
  test('The service owns one key pair for VAPID, an ECDSA P-256 pair', async () => {
    const { publicKey, privateKey } = service.data.vapidKeys;
    const pair = createECDH('prime256v1');
    pair.setPrivateKey(privateKey, 'base64url');
    assert.equal(pair.getPublicKey('base64url'), publicKey);
    assert.equal(await (await service.ask('GET', '/vapidKey')).json(), publicKey);
  });

  test('The pair is generated once and need not be regenerated per run', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'deskbell-conformance-'));
    const keys: unknown[] = [];
    for (let run = 0; run < 2; run += 1) {
      await using again = await startConformanceService({}, folder);
      keys.push(await (await again.ask('GET', '/vapidKey')).json());
    }
    assert.equal(keys[0], keys[1]);
    await rm(folder, { recursive: true });
  });

  test('GET /vapidKey returns the public half, with which a client can subscribe', async () => {
    const key = (await (await service.ask('GET', '/vapidKey')).json()) as string;
    const { endpoint } = await service.userAgent.subscribe(key);
    assert.match(endpoint, /^http/);
  });

  test('The client sends endpoint, p256dh and auth to POST /webPush, which writes them to the server console', async () => {
    const subscription = await subscribe(service);
    assert.equal((await service.ask('POST', '/webPush', subscription)).status, 200);
    const { event: _event, ...values } = service.records.findLast(({ event }) => event === 'subscription')!;
    assert.deepEqual(values, subscription);

    // The console itself, of the service as it is started.
    const { origin } = new URL(subscription.endpoint);
    const { command, address } = await startServe(['--push-services', origin]);
    assert.equal((await sendJson(address, 'POST', '/webPush', subscription)).status, 200);
    const [line] = await command.waitFor(/^.*"event":"subscription".*$/);
    const { endpoint, p256dh, auth } = JSON.parse(line) as Record<string, string>;
    assert.deepEqual({ endpoint, p256dh, auth }, subscription);
  });

  test('Sending is not an HTTP endpoint of the service', async () => {
    const { paths } = await readDescription(service.base);
    const changing = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods as object)
        .filter((method) => method !== 'get')
        .map((method) => `${method} ${path}`),
    );
    assert.deepEqual(changing.sort(), [
      'delete /webPush',
      'delete /webPush/user',
      'post /api/post',
      'post /webPush',
      'post /webPush/sign-out',
      'post /webPush/unsubscribe',
      'put /v1/user/{user_id}',
    ]);
    assert.deepEqual(service.changingRoutes.toSorted(), [
      'DELETE /webPush',
      'DELETE /webPush/user',
      'POST /api/post',
      'POST /webPush',
      'POST /webPush/sign-out',
      'POST /webPush/unsubscribe',
      'PUT /v1/user/*',
    ]);
  });

  test('Requests from any origin are accepted on every path', async () => {
    for (const path of ['/vapidKey', '/webPush', '/api/get', '/v1/user/1', '/', '/no/such/path']) {
      for (const origin of ['https://a.example', 'http://localhost:3000', 'null']) {
        const response = await service.ask('GET', path, undefined, { origin });
        assert.equal(response.headers.get('access-control-allow-origin'), '*');
      }
    }
  });

  test('Each demonstration action can be logged by each of the four mechanisms alone', async () => {
    for (const mechanism of ['action', 'filter', 'authenticator', 'action-creator'] as const) {
      await using logging = await startConformanceService({ logging: [mechanism] });
      for (const [method, path, body] of demoRequests) {
        logging.records.splice(0);
        const response = await logging.ask(method, path, body, { cookie: logging.session.cookie });
        assert.equal(response.status, 200);
        assert.deepEqual([...new Set(logging.records.map((record) => record['mechanism']))], [mechanism]);
        assert.equal(logging.records[0]!['url'], path);
      }
    }
  });

  test('The demonstration actions return fixed JSON strings', async () => {
    for (const [method, path, body] of demoRequests) {
      const [first, second] = [await service.ask(method, path, body), await service.ask(method, path, body)];
      const text = await first.text();
      assert.equal(typeof JSON.parse(text), 'string');
      assert.equal(await second.text(), text);
    }
  });
});

describe('Resources and their fields', () => {
  test('The public key is URL-safe base64 text of the P-256 public key', async () => {
    const key = (await (await service.ask('GET', '/vapidKey')).json()) as string;
    assert.match(key, /^[A-Za-z0-9_-]{87}$/);
    const point = Buffer.from(key, 'base64url');
    assert.equal(point.length, 65);
    assert.doesNotThrow(() => ECDH.convertKey(point, 'prime256v1'));
  });

  test('The private key is URL-safe base64 text that no endpoint ever returns', async () => {
    const { command, address, data } = await startServe([]);
    const { privateKey } = await readKeyFile(data);
    assert.match(privateKey, /^[A-Za-z0-9_-]{43}$/);
    const { paths } = await readDescription(address);
    for (const [path, methods] of Object.entries(paths)) {
      for (const method of Object.keys(methods as object)) {
        const url = address + path.replace('{arg}', 'x').replace('{user_id}', '1');
        const body = method === 'get' ? {} : { body: '{}', headers: { 'content-type': 'application/json' } };
        const response = await fetch(url, { method: method.toUpperCase(), ...body });
        const text = (await response.text()) + JSON.stringify([...response.headers]);
        assert.ok(!text.includes(privateKey), `${method} ${path}`);
      }
    }
    await command.end();
    assert.ok(!command.written().includes(privateKey));
  });

  test('A subscription needs endpoint, p256dh and auth, each a string', async () => {
    for (const field of ['endpoint', 'p256dh', 'auth'] as const) {
      const { [field]: _left, ...rest } = await subscribe(service);
      for (const [body, code] of [
        [rest, 'ERR_FIELD_MISSING'],
        [{ ...rest, [field]: 7 }, 'ERR_FIELD_TYPE'],
        [{ ...rest, [field]: null }, 'ERR_FIELD_TYPE'],
      ] as const) {
        const response = await service.ask('POST', '/webPush', body);
        assert.equal(response.status, 400);
        const { errors } = (await response.json()) as { errors: { pointer: string; code: string }[] };
        assert.deepEqual(
          errors.map((error) => [error.pointer, error.code]),
          [[`/${field}`, code]],
        );
      }
    }
  });

  test('p256dh and auth are standard base64 with padding', async () => {
    const { p256dh, auth } = await subscribe(service);
    assert.match(p256dh, /^[A-Za-z0-9+/]{87}=$/);
    assert.match(auth, /^[A-Za-z0-9+/]{22}==$/);
    for (let count = 0; count < 20; count += 1) {
      assert.equal((await service.ask('POST', '/webPush', await subscribe(service))).status, 200);
    }
  });

  test('An example user has id (int64), name and email', async () => {
    const user = (await (await service.ask('GET', '/v1/user/1')).json()) as Record<string, unknown>;
    assert.deepEqual(Object.keys(user), ['id', 'name', 'email']);
    assert.equal(user['id'], 1);
    assert.equal(typeof user['name'], 'string');
    assert.match(String(user['email']), /^[^@]+@[^@]+$/);

    // No double holds this id: read as one, it is 2^53.
    const id = 2n ** 53n + 1n;
    const path = join(await temporaryFolder(), 'users.db');
    const users = openExampleUsers({ path });
    const database = new DatabaseSync(path);
    await using edge = await startConformanceService({ exampleUsers: users });
    for (const edgeId of [id, -(2n ** 63n), 2n ** 63n - 1n, 0n]) {
      database.exec(`insert into users values (${edgeId}, 'Edge', 'edge@example.org')`);
      const text = await (await edge.ask('GET', `/v1/user/${edgeId}`)).text();
      assert.equal(text, `{"id":${edgeId},"name":"Edge","email":"edge@example.org"}`);
    }
    database.close();
    assert.equal((await edge.ask('GET', `/v1/user/${id - 1n}`)).status, 404);
    assert.equal(
      (await edge.ask('PUT', `/v1/user/${id}`, { name: 'New', email: 'new@example.org' })).status,
      200,
    );
    assert.match(await (await edge.ask('GET', `/v1/user/${id}`)).text(), /"name":"New"/);
    users.close();
  });

  test('An update of a user needs the strings name and email', async () => {
    for (const [body, faults] of [
      [{}, ['/name ERR_FIELD_MISSING', '/email ERR_FIELD_MISSING']],
      [{ name: 'Ada' }, ['/email ERR_FIELD_MISSING']],
      [{ name: 1, email: null }, ['/name ERR_FIELD_TYPE', '/email ERR_FIELD_TYPE']],
      [{ name: ['a'], email: 'b' }, ['/name ERR_FIELD_TYPE']],
      [{ name: '', email: '' }, ['/name ERR_FIELD_VALUE', '/email ERR_FIELD_VALUE']],
      [{ name: 'a\ud800', email: '\udc00b' }, ['/name ERR_FIELD_VALUE', '/email ERR_FIELD_VALUE']],
      [[], [' ERR_FIELD_TYPE']],
      [null, [' ERR_FIELD_TYPE']],
    ] as const) {
      const response = await service.ask('PUT', '/v1/user/1', body);
      assert.equal(response.status, 400);
      const { errors = [] } = (await response.json()) as Problem;
      assert.deepEqual(
        errors.map(({ pointer, code }) => `${pointer} ${code}`),
        faults,
      );
    }
    assert.equal((await service.ask('PUT', '/v1/user/1')).status, 400, 'without a body');
  });

  test('The demonstration session value is the server-side entry SESSION, a string', async () => {
    await using asking = await startConformanceService({ logging: ['authenticator'] });
    await asking.ask('GET', '/api/get', undefined, { cookie: asking.session.cookie });
    assert.deepEqual(asking.records[0]!['session'], { SESSION: 'ada' });
  });
});

describe('Endpoints', () => {
  test('GET /vapidKey takes nothing and answers 200 with a JSON string', async () => {
    const response = await service.ask('GET', '/vapidKey');
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(await response.text(), JSON.stringify(service.data.vapidKeys.publicKey));
  });

  test('POST /webPush takes the three strings as a JSON object and answers 200 with a JSON string', async () => {
    const response = await service.ask('POST', '/webPush', await subscribe(service));
    assert.equal(response.status, 200);
    assert.equal(typeof (await response.json()), 'string');
  });

  test('GET /api/get takes nothing and answers 200 with a JSON string', async () => {
    const response = await service.ask('GET', '/api/get');
    assert.equal(response.status, 200);
    assert.equal(typeof (await response.json()), 'string');
  });

  test('GET /api/getWithArg/:arg takes a string in the path and answers 200 with one fixed JSON string', async () => {
    const answers = new Set<unknown>();
    for (const arg of ['x', 'two words', 'ä/ö?', '🔔', '"quoted"', '100%', 'x'.repeat(256)]) {
      const response = await service.ask('GET', `/api/getWithArg/${encodeURIComponent(arg)}`);
      assert.equal(response.status, 200);
      answers.add(await response.json());
    }
    assert.deepEqual(
      [...answers].map((answer) => typeof answer),
      ['string'],
    );
  });

  test('POST /api/post takes any JSON object and answers 200 with one fixed JSON string', async () => {
    const answers = new Set<unknown>();
    for (const body of [{}, { a: 1 }, { deep: { deeper: [] } }]) {
      const response = await service.ask('POST', '/api/post', body);
      assert.equal(response.status, 200);
      answers.add(await response.json());
    }
    assert.deepEqual(
      [...answers].map((answer) => typeof answer),
      ['string'],
    );
  });

  test('POST /api/post is exempt from the CSRF check', async () => {
    const { cookie } = service.session;
    assert.equal((await service.ask('POST', '/api/post', {}, { cookie })).status, 200);
  });

  test('No other route is exempt from the CSRF check', async () => {
    const { cookie } = service.session;
    const other = await createSessionCookie({ sessionKey: service.data.sessionKey, value: 'ada' });
    const subscription = await subscribe(service);
    let stored = await service.data.store.subscriptions.count();
    for (const [method, path, body] of [
      ['POST', '/webPush', subscription],
      ['DELETE', '/webPush', subscription],
      ['PUT', '/v1/user/1', { name: 'a', email: 'b' }],
    ] as const) {
      assert.equal((await service.ask(method, path, body, { cookie })).status, 403);
      assert.equal(await service.data.store.subscriptions.count(), stored, 'it does nothing');
      for (const csrfToken of ['', 'x', other.csrfToken, `${service.session.csrfToken}x`]) {
        const response = await service.ask(method, path, body, { cookie, 'csrf-token': csrfToken });
        assert.equal(response.status, 403, `with the token "${csrfToken}"`);
      }
      const token = { cookie, 'csrf-token': service.session.csrfToken };
      assert.ok((await service.ask(method, path, body, token)).ok);
      stored = await service.data.store.subscriptions.count();
    }
  });

  test('With the filter on, every response carries Request-Time in whole milliseconds', async () => {
    for (const [method, path] of [
      ['GET', '/vapidKey'],
      ['GET', '/'],
      ['GET', '/no/such/path'],
      ['PATCH', '/vapidKey'],
      ['OPTIONS', '/webPush'],
      ['POST', '/webPush'],
      ['GET', '/v1/user/x'],
      ['GET', '/%'],
    ] as const) {
      assert.match((await service.ask(method, path)).headers.get('request-time') ?? '', /^\d+$/);
    }

    // A request that takes 40 ms, however fast the machine is.
    const leastMs = 40;
    await using busy = await startConformanceService({ onSubscribe: () => spin(leastMs) });
    const subscription = await subscribe(busy);
    const startMs = performance.now();
    const response = await busy.ask('POST', '/webPush', subscription);
    const mostMs = performance.now() - startMs;
    assert.equal(response.status, 200);
    const requestTimeMs = Number(response.headers.get('request-time'));
    assert.ok(requestTimeMs >= leastMs, `${requestTimeMs} ms are at least ${leastMs}`);
    assert.ok(requestTimeMs <= Math.ceil(mostMs), `${requestTimeMs} ms are at most ${mostMs}`);
  });

  test('Without the filter, no response carries it', async () => {
    await using quiet = await startConformanceService({ logging: ['action'] });
    assert.equal((await quiet.ask('GET', '/api/get')).headers.get('request-time'), null);
  });
});

describe('Example user API', () => {
  test('GET /v1/user/{user_id} answers 200 with the user record as application/json', async () => {
    const response = await service.ask('GET', '/v1/user/1');
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type')!, /^application\/json/);
    assert.deepEqual(Object.keys((await response.json()) as object), ['id', 'name', 'email']);
  });

  test('PUT /v1/user/{user_id} answers 200 without a body, and the record is the one sent', async () => {
    const update = { name: 'Zoë 🔔 "quoted"', email: 'zoe@example.org' };
    const response = await service.ask('PUT', '/v1/user/1', { ...update, id: 99, further: true });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-length'), '0');
    assert.equal(response.headers.get('content-type'), null);
    assert.equal((await response.arrayBuffer()).byteLength, 0);
    assert.deepEqual(await (await service.ask('GET', '/v1/user/1')).json(), { id: 1, ...update });
  });

  test('An invalid user id is a 400', async () => {
    const notDecimal =
      'x 1x x1 1.0 1.5 1e0 1e3 0x1 %20 %201 1%20 +1 - --1 -0 01 -01 1n 1,000 1_000 %EF%BC%91 %D9%A1 NaN Infinity null 1;a=b %00 1%00';
    const tooLarge = ['9223372036854775808', '-9223372036854775809', '1'.repeat(40), '9'.repeat(4000)];
    for (const id of [...notDecimal.split(' '), ...tooLarge]) {
      for (const [method, body] of [['GET'], ['PUT', { name: 'a', email: 'b' }]] as const) {
        const response = await service.ask(method, `/v1/user/${id}`, body);
        const { code, errors = [] } = (await response.json()) as Problem;
        assert.deepEqual([response.status, code], [400, 'ERR_USER_ID_INVALID'], id);
        assert.deepEqual(pluck(errors, 'pointer'), ['/user_id']);
      }
    }
  });

  test('A user that does not exist is a 404', async () => {
    for (const id of ['2', '9007199254740993', '9223372036854775807', '-1']) {
      for (const [method, body] of [['GET'], ['PUT', { name: 'a', email: 'b' }]] as const) {
        const response = await service.ask(method, `/v1/user/${id}`, body);
        const { code } = (await response.json()) as Problem;
        assert.deepEqual([response.status, code], [404, 'ERR_USER_NOT_FOUND'], id);
      }
    }
  });
});

describe('Versioning', () => {
  test('The example user API is under /v1, and not elsewhere', async () => {
    assert.equal((await service.ask('GET', '/v1/user/1')).status, 200);
    assert.equal((await service.ask('GET', '/user/1')).status, 404);
  });

  test('The description document carries info.version for the description itself', async () => {
    const { info, openapi } = await readDescription(service.base);
    // Of the description: neither the package's version nor the one of OpenAPI.
    assert.match(String(info.version), /^[1-9]\d*\.\d+\.\d+$/);
    assert.notEqual(info.version, openapi);
  });
});
