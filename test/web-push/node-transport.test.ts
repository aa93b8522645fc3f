// `transport: 'node'` and DESKBELL_WEB_PUSH_TRANSPORT: messages go through `https.request` as it is when they are sent, so
// that what applications replace it with in their tests answers. Nothing else turns it on.
import assert from 'node:assert/strict';
import https from 'node:https';
import { afterEach, before, after, mock, suite, test } from 'node:test';
import nock from 'nock';

import type { RequestOptions } from '../../src/web-push/index.ts';
import { makeSubscriber, ours } from './original.ts';
import { startPushServer } from './push-servers.ts';
import { pluck } from '../../tools/pluck.ts';

const variable = 'DESKBELL_WEB_PUSH_TRANSPORT';
/** No such host: whatever is sent there without a replacement fails. */
const subscriber = makeSubscriber('https://push.example.invalid/wpush/v2/abc');
const { subscription } = subscriber;

// It is active once it is imported.
nock.restore();

afterEach(() => {
  delete process.env[variable];
  mock.restoreAll();
});

suite("with Node's https.request", () => {
  before(() => nock.activate());
  after(() => nock.restore());

  test('by the variable, nock answers', () => {
    process.env[variable] = 'node';
    return answerByNock({});
  });

  test('by the option, nock answers', () => answerByNock({ transport: 'node' }));

  test('a stub of https.request is called', async () => {
    const request = mock.method(https, 'request', () => {
      throw new Error('the stub');
    });
    const sent = ours.sendNotification(subscription, 'text', { transport: 'node' });
    await assert.rejects(sent, { message: 'the stub' });
    assert.equal(request.mock.callCount(), 1);
  });
});

async function answerByNock(options: RequestOptions): Promise<void> {
  const push = nock('https://push.example.invalid');
  push.post('/wpush/v2/abc').matchHeader('ttl', '60').reply(201, 'created', { location: '/message/1' });
  push.post('/wpush/v2/abc').reply(410, 'gone');

  const sent = await ours.sendNotification(subscription, 'text', { ...options, TTL: 60 });
  assert.deepEqual([sent.statusCode, sent.body, sent.headers['location']], [201, 'created', '/message/1']);
  const refused = ours.sendNotification(subscription, 'text', options);
  await assert.rejects(refused, { name: 'WebPushError', statusCode: 410, body: 'gone' });
  assert.ok(push.isDone());
}

suite('otherwise', () => {
  let server: Awaited<ReturnType<typeof startPushServer>>;
  before(async () => {
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    server = await startPushServer();
  });
  after(() => server.close());

  test('a replaced https.request changes nothing', async () => {
    const request = mock.method(https, 'request', () => assert.fail('it is called'));
    const endpoint = `${server.origin}/status/201`;
    assert.equal((await ours.sendNotification({ ...subscription, endpoint }, 'text')).statusCode, 201);
    process.env[variable] = 'node';
    const options: RequestOptions = { transport: 'deskbell' };
    assert.equal(
      (await ours.sendNotification({ ...subscription, endpoint }, 'text', options)).statusCode,
      201,
    );
    assert.equal(request.mock.callCount(), 0);
    assert.deepEqual(pluck(server.take(), 'httpVersion'), ['2.0', '2.0']);
  });

  test('another value is refused, and named', async () => {
    const options = { transport: 'http' } as unknown as RequestOptions;
    await assert.rejects(ours.sendNotification(subscription, 'text', options), {
      message: "transport is 'http'; it must be 'node' or 'deskbell'.",
    });
    process.env[variable] = 'Node';
    await assert.rejects(ours.sendNotification(subscription, 'text'), {
      message: "DESKBELL_WEB_PUSH_TRANSPORT is 'Node'; it must be 'node' or 'deskbell'.",
    });
  });

  test('an empty variable is as good as none', async () => {
    process.env[variable] = '';
    const endpoint = `${server.origin}/status/201`;
    assert.equal((await ours.sendNotification({ ...subscription, endpoint }, 'text')).statusCode, 201);
  });
});
