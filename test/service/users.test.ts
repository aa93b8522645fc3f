// The example user API: int64 to the last digit, in and out.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Problem } from '../../src/http/problem.ts';
import { type ExampleUser, openExampleUsers } from '../../src/service/demonstration/users.ts';
import { sendJson, startServiceForSuite } from './running-service.ts';

const bigId = 9_007_199_254_740_993n; // 2^53 + 1: a double cannot tell it from 2^53
const minId = -(2n ** 63n);
const maxId = 2n ** 63n - 1n;

describe('the example user API', () => {
  // Users are not created over HTTP: some at the edges stand beside the real one.
  const edges = new Map<bigint, ExampleUser>(
    [bigId, minId, maxId, 0n].map((id) => [id, { id, name: 'Edge', email: 'edge@example.org' }]),
  );
  const users = openExampleUsers();
  const service = startServiceForSuite({
    exampleUsers: { ...users, find: async (id) => edges.get(id) ?? users.find(id) },
  });

  test('has one example user from the start', async () => {
    const response = await fetch(`${service.base}/v1/user/1`);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    const user = (await response.json()) as Record<string, unknown>;
    assert.deepEqual(Object.keys(user), ['id', 'name', 'email']);
    assert.equal(user['id'], 1);
    assert.equal(typeof user['name'], 'string');
    assert.equal(typeof user['email'], 'string');
  });

  for (const id of [bigId, minId, maxId, 0n]) {
    test(`answers the id ${id} as a JSON number with every digit`, async () => {
      const response = await fetch(`${service.base}/v1/user/${id}`);
      assert.equal(response.status, 200);
      assert.equal(await response.text(), `{"id":${id},"name":"Edge","email":"edge@example.org"}`);
    });
  }

  const invalid = [
    'x',
    '1x',
    'x1',
    '1.0',
    '1.5',
    '1e3',
    '0x10',
    '%201',
    '1%20',
    '+1',
    '-',
    '--1',
    '-0',
    '01',
    '1,000',
    '1_000',
    '%EF%BC%91',
    '%D9%A1',
    'NaN',
    'Infinity',
    'null',
    `${maxId + 1n}`,
    `${minId - 1n}`,
    '9'.repeat(20),
    '9'.repeat(4000),
    '1;a=b',
    '%00',
    '1%00',
  ];
  for (const id of invalid) {
    test(`is a 400 for the id ${id.slice(0, 30)}`, async () => {
      for (const method of ['GET', 'PUT']) {
        const init =
          method === 'GET'
            ? {}
            : { body: '{"name":"a","email":"b"}', headers: { 'content-type': 'application/json' } };
        const response = await fetch(`${service.base}/v1/user/${id}`, { method, ...init });
        assert.equal(response.status, 400);
        const problem = (await response.json()) as Problem;
        assert.equal(problem.code, 'ERR_USER_ID_INVALID');
        assert.deepEqual(
          problem.errors?.map(({ pointer }) => pointer),
          ['/user_id'],
        );
      }
    });
  }

  for (const id of [2n, -1n, bigId - 1n, maxId - 1n]) {
    test(`is a 404 for the id ${id}, which nobody has`, async () => {
      const get = await fetch(`${service.base}/v1/user/${id}`);
      const put = await sendJson(service.base, 'PUT', `/v1/user/${id}`, { name: 'a', email: 'b' });
      for (const response of [get, put]) {
        assert.equal(response.status, 404);
        assert.equal(((await response.json()) as Problem).code, 'ERR_USER_NOT_FOUND');
      }
    });
  }

  test('answers an update with 200 and no body at all, and keeps it', async () => {
    const update = { name: 'Zoë 🔔 "quoted"', email: 'zoe@example.org', id: 99, further: true };
    const response = await sendJson(service.base, 'PUT', '/v1/user/1', update);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-length'), '0');
    assert.equal(response.headers.get('content-type'), null);
    assert.equal((await response.arrayBuffer()).byteLength, 0);
    const user = await (await fetch(`${service.base}/v1/user/1`)).json();
    assert.deepEqual(user, { id: 1, name: update.name, email: update.email });
  });

  for (const [body, errors] of [
    [{}, ['/name ERR_FIELD_MISSING', '/email ERR_FIELD_MISSING']],
    [{ name: 'a' }, ['/email ERR_FIELD_MISSING']],
    [{ name: 1, email: null }, ['/name ERR_FIELD_TYPE', '/email ERR_FIELD_TYPE']],
    [{ name: ['a'], email: 'b' }, ['/name ERR_FIELD_TYPE']],
    [{ name: '', email: '' }, ['/name ERR_FIELD_VALUE', '/email ERR_FIELD_VALUE']],
    [{ name: 'a\ud800', email: '\udc00b' }, ['/name ERR_FIELD_VALUE', '/email ERR_FIELD_VALUE']],
    [[], [' ERR_FIELD_TYPE']],
    [null, [' ERR_FIELD_TYPE']],
  ] as const) {
    test(`is a 400 that names the fields for the update ${JSON.stringify(body)}`, async () => {
      const response = await sendJson(service.base, 'PUT', '/v1/user/1', body);
      assert.equal(response.status, 400);
      const problem = (await response.json()) as Problem;
      assert.equal(problem.code, 'ERR_REQUEST_INVALID');
      assert.deepEqual(
        problem.errors?.map((error) => `${error.pointer} ${error.code}`),
        errors,
      );
    });
  }

  test('is a 400 for an update without a body', async () => {
    const response = await fetch(`${service.base}/v1/user/1`, { method: 'PUT' });
    assert.equal(response.status, 400);
  });
});
