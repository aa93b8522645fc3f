// What is wrong with a request is said in a short answer, however much of it is wrong.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { madeUpSubscription, vapidPublicKey } from '../store/made-up-subscription.ts';
import { signIn } from './console-visitor.ts';
import { startOperator, type RunningOperator } from './running-operator.ts';

interface Problem {
  readonly code: string;
  readonly detail: string;
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
}

const message = { title: 'Tea', message: 'is ready' };

async function refusal({ ask }: RunningOperator, path: string, body: unknown): Promise<Problem> {
  const response = await ask(path, { method: 'POST', body });
  assert.equal(response.status, 400);
  return (await response.json()) as Problem;
}

const wrongMembers = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, 1]));

describe('what is wrong with a request', () => {
  test('several wrong members are named at once', async (t) => {
    const operator = await startOperator(t);
    const { errors, detail } = await refusal(operator, '/v1/broadcasts', {
      audience: 'all',
      message: { ...message, silent: 'no', renotify: 'no' },
      ttlSeconds: -1,
    });
    assert.deepEqual(
      errors.map(({ pointer }) => pointer),
      ['/message/renotify', '/message/silent', '/ttlSeconds'],
    );
    assert.doesNotMatch(detail, /more/);
  });

  test('of many wrong members twenty are named, and how many more there are', async (t) => {
    const operator = await startOperator(t);
    const body = { audience: 'all', message, ...wrongMembers(30) };
    const { errors, detail } = await refusal(operator, '/v1/broadcasts', body);
    assert.equal(errors.length, 20);
    assert.match(detail, /And 10 more\.$/);
  });

  test('of a body with more than a hundred values the first wrong one is named', async (t) => {
    const operator = await startOperator(t);
    const body = { audience: 'all', message, ...wrongMembers(200) };
    const { errors } = await refusal(operator, '/v1/broadcasts', body);
    assert.equal(errors.length, 1);
  });

  test('a long name is shown by its beginning and its end', async (t) => {
    const operator = await startOperator(t);
    const body = { audience: 'all', message, [`b${'a'.repeat(60_000)}z`]: 1 };
    const { errors, detail } = await refusal(operator, '/v1/broadcasts', body);
    assert.match(errors[0]!.pointer, /^\/ba{90,100}…a{90,100}z$/);
    assert.match(detail, /^ba+…a+z is not known here\.$/);
    assert(detail.length <= 2000);
  });

  test('a body that is too long is told the limit of its own route', async (t) => {
    const operator = await startOperator(t);
    const { ask, base } = operator;
    for (const [path, limit] of [
      ['/v1/messages', 65_536],
      ['/v1/broadcasts', 131_072],
    ] as const) {
      const response = await ask(path, { method: 'POST', body: `"${'a'.repeat(limit)}"` });
      assert.equal(response.status, 413);
      assert.match(((await response.json()) as Problem).detail, new RegExp(`the ${limit} bytes`));
    }
    const form = await fetch(`${base}/console/sign-in`, {
      method: 'POST',
      headers: { origin: base, 'content-type': 'application/x-www-form-urlencoded' },
      body: `token=${'a'.repeat(4096)}`,
    });
    assert.equal(form.status, 413);
    assert.match(await form.text(), /the 4096 bytes/);
  });

  test('the console reads forms alone', async (t) => {
    const { base } = await startOperator(t);
    const { status } = await fetch(`${base}/console/sign-in`, {
      method: 'POST',
      headers: { origin: base, 'content-type': 'application/json' },
      body: '{"token":"x"}',
    });
    assert.equal(status, 415);
  });

  test('a form is read as browsers write it', async (t) => {
    const operator = await startOperator(t);
    const visitor = await signIn(operator);
    await visitor.open('/console/send');
    const page = await visitor.submit('/console/send', { title: 'a+b & ü', message: 'one\r\ntwo' });
    assert.equal(page.status, 200);
    assert.match(page.html, /a\+b &amp; ü/);
  });

  test('a long form that is wrong is answered by a short page', async (t) => {
    const operator = await startOperator(t);
    const visitor = await signIn(operator);
    await visitor.open('/console/send');
    const page = await visitor.submit('/console/send', {
      ...message,
      audience: 'ids',
      ids: 'x,'.repeat(12_000),
    });
    assert.equal(page.status, 400);
    assert(page.html.length < 65_536);
    assert.match(page.html, /whole numbers from 1/);
  });

  test('no answer to a wrong form is long, though each of its characters becomes six', async (t) => {
    const operator = await startOperator(t);
    const visitor = await signIn(operator);
    await visitor.open('/console/send');
    const page = await visitor.submit('/console/send', { ...message, title: '"'.repeat(8000) });
    assert.equal(page.status, 400);
    assert(page.html.length < 65_536);
    assert.match(page.html, /too long to be shown again/);
  });

  test('a tag of accents is refused by its length, and one in another spelling is put into the usual one', async (t) => {
    const { ask, store } = await startOperator(t);
    const { id } = await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    const assign = async (tag: string): Promise<Response> =>
      ask(`/v1/subscriptions/${id}`, { method: 'PATCH', body: { tags: [tag] } });
    assert.equal((await assign(`a${'\u0300\u0316'.repeat(5000)}`)).status, 400);
    const longest = '\ud55c'.repeat(21);
    const answer = await assign(longest.normalize('NFD'));
    assert.equal(answer.status, 200);
    assert.deepEqual(((await answer.json()) as { readonly tags: readonly string[] }).tags, [longest]);
  });
});
