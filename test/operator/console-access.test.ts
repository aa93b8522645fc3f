// Who gets into the console and stays there: tokens, sessions, forms of its own pages, and nobody else's.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import { madeUpSubscription, vapidPublicKey } from '../store/made-up-subscription.ts';
import { until } from '../../tools/until.ts';
import { startService } from '../service/running-service.ts';
import { createVisitor, signIn } from './console-visitor.ts';
import { startOperator, type RunningOperator } from './running-operator.ts';

const createBroadcast = async ({ store, sender }: RunningOperator) => {
  await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
  return (await sender.createBroadcast('all', { title: 'Hello', message: '' })).broadcast;
};

test('without a session every page leads to the sign-in page, and back to the page after it', async (t) => {
  const operator = await startOperator(t);
  const { id } = await createBroadcast(operator);
  const visitor = createVisitor(operator);
  for (const path of ['/', '/console/', '/console/broadcasts', `/console/live/broadcasts/${id}`]) {
    const { url, status, html } = await visitor.open(path);
    assert.match(url, /^\/console\/sign-in/, path);
    assert.equal(status, 200);
    assert.doesNotMatch(html, /Hello/);
  }
  await visitor.open('/console/broadcasts?state=running');
  const { url } = await visitor.submit('/console/sign-in', { token: await operator.add('ada', 'read') });
  assert.equal(url, '/console/broadcasts?state=running');
});

test('signing in leads to pages of the console only', async (t) => {
  const operator = await startOperator(t);
  const token = await operator.add('ada', 'read');
  for (const to of [
    'https://evil.example/',
    '//evil.example',
    '/console/../v1',
    '/console/"><b>',
    '/v1/keys',
  ]) {
    const visitor = createVisitor(operator);
    await visitor.open(`/console/sign-in?to=${encodeURIComponent(to)}`);
    assert.equal((await visitor.submit('/console/sign-in', { token, to })).url, '/console/', to);
  }
});

test('a wrong token, and one for metrics alone, is refused', async (t) => {
  const operator = await startOperator(t);
  const visitor = createVisitor(operator);
  for (const token of [
    '',
    'x',
    `${await operator.add('ada', 'full')}x`,
    await operator.add('meter', 'metrics'),
  ]) {
    await visitor.open('/console/sign-in');
    const { status, html } = await visitor.submit('/console/sign-in', { token });
    assert.equal(status, 403);
    assert.match(html, /This is not the token/);
    assert.equal(visitor.cookie, '');
  }
});

test('a token is taken from the form of a page of the console alone', async (t) => {
  const { base, add } = await startOperator(t);
  const body = new URLSearchParams({ token: await add('ada', 'full') });
  for (const headers of [{}, { origin: 'https://evil.example' }] as readonly Record<string, string>[]) {
    const response = await fetch(`${base}/console/sign-in`, { method: 'POST', body, headers });
    assert.equal(response.status, 403);
    assert.deepEqual(response.headers.getSetCookie(), []);
  }
});

test('a client has ten attempts a minute', async (t) => {
  const operator = await startOperator(t);
  const visitor = createVisitor(operator);
  await visitor.open('/console/sign-in');
  const statuses: number[] = [];
  let waitSeconds = '';
  const startedMs = performance.now();
  for (let attempt = 0; attempt < 12; attempt += 1) {
    const response = await fetch(`${operator.base}/console/sign-in`, {
      method: 'POST',
      body: new URLSearchParams({ token: 'guess' }),
      headers: { origin: operator.base },
    });
    statuses.push(response.status);
    waitSeconds = response.headers.get('retry-after') ?? '';
  }
  assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 403), 429, 429]);
  const passedSeconds = (performance.now() - startedMs) / 1000;
  assert.ok(Number(waitSeconds) <= 60 && Number(waitSeconds) >= Math.floor(60 - passedSeconds), waitSeconds);
});

test('the cookie is for the console and the browser alone, and secure where the listener is', async (t) => {
  const plain = await startOperator(t);
  const behindProxy = await startOperator(t, { isBehindProxy: true });
  for (const { base, add } of [plain, behindProxy]) {
    const isSecure = base === behindProxy.base;
    const response = await fetch(`${base}/console/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ token: await add('ada', 'full') }),
      headers: { origin: isSecure ? base.replace('http:', 'https:') : base },
    });
    const [cookie] = response.headers.getSetCookie();
    assert.match(
      cookie!,
      isSecure
        ? /^deskbell_console=[\w-]{43}; Path=\/console; HttpOnly; SameSite=Strict; Secure$/
        : /^deskbell_console=[\w-]{43}; Path=\/console; HttpOnly; SameSite=Strict$/,
    );
  }
});

test('a session ends with signing out, and when its operator is removed', async (t) => {
  const operator = await startOperator(t);
  const visitor = await signIn(operator);
  const { cookie } = visitor;
  const other = await signIn(operator, 'read');
  await visitor.submit('/console/sign-out');
  visitor.cookie = cookie;
  assert.match((await visitor.open('/console/')).url, /sign-in/);

  assert.equal((await other.open('/console/')).url, '/console/');
  await operator.store.operators.remove('ada-read');
  assert.match((await other.open('/console/')).url, /sign-in/);
});

test('a stream of live figures ends when its operator is removed', async (t) => {
  const operator = await startOperator(t);
  const { cookie } = await signIn(operator);
  const response = await fetch(`${operator.base}/console/live/overview`, {
    headers: { cookie },
    signal: AbortSignal.timeout(20_000),
  });
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  const chunks = response.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  let first = '';
  while (!first.includes('data:')) first += (await chunks.next()).value!;
  assert.match(first, /^event: message\ndata: \{"live-tiles":/m);
  await operator.store.operators.remove('ada-full');
  let next = await chunks.next();
  while (!next.done) next = await chunks.next();
});

test('what changes something needs the token of the session and the origin of the page', async (t) => {
  const operator = await startOperator(t);
  const { id } = await createBroadcast(operator);
  const visitor = await signIn(operator);
  const { html } = await visitor.open(`/console/broadcasts/${id}`);
  const csrf = /name="csrf" value="([\w-]+)"/.exec(html)![1]!;
  const stranger = await signIn(operator, 'full', 'eve');
  const strangersCsrf = /name="csrf" value="([\w-]+)"/.exec(stranger.page.html)![1]!;
  const post = async (fields: Record<string, string>, headers: Record<string, string>) => {
    const response = await fetch(`${operator.base}/console/broadcasts/${id}/pause`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams(fields),
      headers: { cookie: visitor.cookie, ...headers },
    });
    return response.status;
  };
  const { base } = operator;
  const compare = t.mock.method(crypto, 'timingSafeEqual');
  syncBuiltinESMExports();
  t.after(() => {
    compare.mock.restore();
    syncBuiltinESMExports();
  });
  assert.equal(await post({ csrf }, {}), 403, 'no origin');
  assert.equal(await post({ csrf }, { origin: 'http://127.0.0.1:8080' }), 403, 'another origin');
  assert.equal(await post({ csrf }, { origin: base, 'sec-fetch-site': 'same-site' }), 403, 'another site');
  assert.equal(await post({}, { origin: base }), 403, 'no token');
  assert.equal(await post({ csrf: `${csrf.slice(0, -1)}é` }, { origin: base }), 403, 'a wrong token');
  assert.equal(await post({ csrf: strangersCsrf }, { origin: base }), 403, 'the token of another session');
  assert.equal(String(compare.mock.calls.at(-1)?.arguments[0]), strangersCsrf, 'compared in constant time');
  assert.equal((await operator.store.broadcasts.find(id))?.state, 'running');
  assert.equal(await post({ csrf }, { origin: base }), 303);
  assert.equal((await operator.store.broadcasts.find(id))?.state, 'paused');
});

test('an API token is no session, and a session is no API token', async (t) => {
  const operator = await startOperator(t);
  const { cookie } = await signIn(operator);
  assert.equal((await fetch(`${operator.base}/v1/keys`, { headers: { cookie } })).status, 401);
  const response = await operator.ask('/console/');
  assert.match(response.url, /sign-in/);
});

test('a read-only operator sees everything and changes nothing; changes are in the audit', async (t) => {
  const operator = await startOperator(t);
  const { id } = await createBroadcast(operator);
  const reader = await signIn(operator, 'read');
  const { html } = await reader.open(`/console/broadcasts/${id}`);
  assert.match(html, /Hello/);
  assert.doesNotMatch(html, /pause"/);
  const csrf = /name="csrf" value="([\w-]+)"/.exec(html)![1]!;
  const response = await fetch(`${operator.base}/console/broadcasts/${id}/pause`, {
    method: 'POST',
    body: new URLSearchParams({ csrf }),
    headers: { cookie: reader.cookie, origin: operator.base },
  });
  assert.equal(response.status, 403);
  // what is there for a change alone says why it is not, and lists have no buttons
  for (const path of [`/console/broadcasts/${id}/cancel`, '/console/send', '/console/channels/edit']) {
    const page = await reader.open(path);
    assert.match(page.html, /You may look, and change nothing/, path);
    assert.doesNotMatch(page.html, /<form[^>]*action="(?!\/console\/sign-out)/, path);
  }
  await operator.store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
  for (const path of ['/console/channels', '/console/broadcasts', '/console/subscriptions/1'])
    assert.doesNotMatch((await reader.open(path)).html, /\/remove|Send a message|Add a channel/, path);

  const visitor = await signIn(operator);
  assert.match((await visitor.open('/console/channels')).html, /\/remove/);
  await visitor.open(`/console/broadcasts/${id}`);
  await visitor.submit(`/console/broadcasts/${id}/pause`);
  await visitor.open(`/console/broadcasts/${id}/resume`);
  await visitor.submit(`/console/broadcasts/${id}/resume`);
  await visitor.open(`/console/broadcasts/${id}/cancel`);
  await visitor.submit(`/console/broadcasts/${id}/cancel`);
  const audit = await operator.store.audit.list({ limit: 10 });
  assert.deepEqual(
    audit.map(({ operator: name, action, target, status }) => [name, action, target, status]),
    ['cancel', 'resume', 'pause'].map((name) => ['ada-full', `broadcast.${name}`, `broadcast ${id}`, 303]),
  );
});

test('every answer keeps browsers from framing it, and from loading anything from elsewhere', async (t) => {
  const operator = await startOperator(t);
  const { cookie } = await signIn(operator);
  // what is wrong with a request of nobody is said on a page alone
  const wrong = { method: 'POST', headers: { origin: operator.base, 'content-type': 'x/y' }, body: '{}' };
  const guess = {
    method: 'POST',
    headers: { origin: operator.base },
    body: new URLSearchParams({ token: 'x' }),
  };
  const opened = { headers: { cookie } };
  for (const [path, request, expected] of [
    ['/console/', opened, 200],
    ['/console/sign-in', opened, 200],
    ['/console/sign-in', wrong, 415],
    ['/console/sign-in', guess, 403],
    ['/console/broadcasts/999', opened, 404],
    ['/console/console.js', opened, 200],
  ] as const) {
    const { headers, status } = await fetch(operator.base + path, request);
    assert.equal(status, expected, path);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
    assert.equal(headers.get('access-control-allow-origin'), null);
    if (!headers.get('content-type')!.startsWith('text/html')) continue;
    const policy = headers.get('content-security-policy')!;
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.match(policy, /form-action 'self'; .*frame-ancestors 'none'/);
    assert.match(policy, /^(?:[a-z-]+(?: 'self'| 'none'| data:)+(?:; |$))+$/, 'nothing from elsewhere');
    assert.equal(headers.get('cache-control'), 'no-store');
  }
});

test('the public listener has no page of the console, and the console none of the public listener', async (t) => {
  const operator = await startOperator(t);
  const { cookie } = await signIn(operator);
  const service = await startService({});
  t.after(() => service.close());
  for (const path of ['/console/', '/console/sign-in', '/console/console.js', '/console/live/overview']) {
    assert.equal((await fetch(service.base + path, { headers: { cookie } })).status, 404, path);
  }
  for (const path of ['/vapidKey', '/webPush', '/docs', '/client/demo/demo.js', '/v1/user/1']) {
    const { status } = await fetch(operator.base + path, { headers: { cookie } });
    assert.equal(status, 404, path);
  }
});

test('two hundred pages are live at once, and no more; one that does not read holds nothing up', async (t) => {
  const operator = await startOperator(t);
  const { cookie } = await signIn(operator);
  const ending = new AbortController();
  t.after(() => ending.abort());
  const open = () =>
    fetch(`${operator.base}/console/live/overview`, { headers: { cookie }, signal: ending.signal });
  // None of them but the last is read.
  const answers = await Promise.all(Array.from({ length: 200 }, open));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.equal((await open()).status, 429);
  const chunks = answers.at(-1)!.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  for (let event = 0; event < 3; event += 1) assert.equal((await chunks.next()).done, false);
  await answers[0]!.body!.cancel();
  await until(async () => (await open()).status === 200, 'room in the place of a page that was left');
});
