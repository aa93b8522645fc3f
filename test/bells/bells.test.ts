// Bells on real sockets, with a real database: what tools send becomes a notification that is worth reading, for who has the secret.
import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { createBellSecret, hashBellSecret } from '../../src/store/bells.ts';
import { createBells, toMessage } from '../../src/bells/ring.ts';
import { encodePayload } from '../../src/protocol/message/encode-payload.ts';
import { readMessage } from '../../src/protocol/message/read-message.ts';
import { parseLines, runCommand, serve, temporaryFolder, type Words } from '../cli/run-command.ts';
import { startStage } from '../operator/running-operator.ts';
import { requestsOf, type ToolRequest } from './tool-requests.ts';
import { pluck } from '../../tools/pluck.ts';

const minuteMs = 60_000;

/** Header values are bytes as Latin-1, which `fetch` would refuse. */
const ask = (
  base: string,
  { method = 'POST', path, headers = {}, body = '' }: Partial<ToolRequest> & { readonly path: string },
): Promise<{ readonly status: number; readonly type: string; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const isBytes = typeof body === 'string' || body instanceof Uint8Array;
    const bytes = isBytes ? Buffer.from(body) : Buffer.from(JSON.stringify(body));
    const request = httpRequest(base + path, { method, headers: { ...headers } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode!,
          type: response.headers['content-type'] ?? '',
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    request.on('error', reject);
    request.end(method === 'GET' || method === 'DELETE' ? undefined : bytes);
  });

async function startBells(
  t: TestContext,
  { bell = {}, nowMs = Date.now() }: { bell?: object; nowMs?: number } = {},
) {
  let now = nowMs;
  const stage = await startStage(t, [{ user: 'me' }], { now: () => now });
  const secret = createBellSecret();
  const added = await stage.store.bells.add({
    name: 'alerts',
    audience: 'all',
    secretHash: hashBellSecret(secret),
    ...bell,
  });
  const newest = async () => {
    const [broadcast] = await stage.store.broadcasts.list({ limit: 1 });
    if (broadcast === undefined) return undefined;
    const payload = JSON.parse(Buffer.from(broadcast.payload).toString()) as Record<string, unknown>;
    return { ...broadcast, payload };
  };
  const path = `/ring/${secret}`;
  /** Asks the bell itself, unless the request has another path. */
  const ring = (request: Partial<ToolRequest>) => ask(stage.base, { path, ...request });
  return { ...stage, secret, path, ring, bell: added, newest, pass: (ms: number) => (now += ms) };
}

test('what each tool sends is recognised, and made a notification', async (t) => {
  const { base, secret, store, newest, bell, records, pass } = await startBells(t);
  let count = 0;
  for (const tool of requestsOf('/ring', secret)) {
    pass(minuteMs);
    const { status, type, text } = await ask(base, tool);
    assert.equal(status, tool.tool === 'as for Discord' ? 204 : 200, `${tool.name}: ${text}`);
    const isRung = tool.shown !== null;
    const outcomeIs = isRung ? /^\{"outcome":"rung"\}$/ : /^\{"outcome":"nothing"\}$/;
    const usual = tool.tool.includes('ntfy') ? /"event":"message"/ : outcomeIs;
    assert.match(text, tool.answer ?? usual, tool.name);
    const json = status === 204 ? '' : text === 'ok' ? 'text/plain' : 'application/json';
    assert.equal(type.split(';')[0], json, tool.name);
    const [request] = await store.bells.requests(bell.id);
    const { tool: recognised, leftOut, shape, outcome, broadcastId } = request!;
    assert.deepEqual(
      { recognised, leftOut, shape },
      { recognised: tool.tool, leftOut: tool.leftOut, shape: tool.shape },
      tool.name,
    );
    assert.equal(outcome, isRung ? 'rung' : 'nothing');
    if (!isRung) continue;
    count += 1;
    const made = (await newest())!;
    assert.equal(made.id, broadcastId);
    assert.deepEqual(made.createdBy, { bell: 'alerts' });
    assert.equal(made.urgency, tool.urgency ?? 'normal', tool.name);
    for (const [name, expected] of Object.entries(tool.shown!)) {
      if (expected instanceof RegExp) assert.match(String(made.payload[name]), expected, tool.name);
      else assert.deepEqual(made.payload[name], expected, `${tool.name}: ${name}`);
    }
  }
  const all = await store.broadcasts.list({ limit: 500 });
  assert.equal(all.length, count);
  assert.ok(!JSON.stringify(records).includes(secret));
});

test('a bell has no way in but its secret, wherever it is, and shows nothing of what is there', async (t) => {
  const { path: own, ring, secret, store, records } = await startBells(t);
  const wrong = createBellSecret();
  for (const path of [
    `/ring/${wrong}`,
    '/ring/mytopic',
    '/ring',
    `/ring?token=${wrong}`,
    '/ring/message',
    `/ring/${secret}x`,
  ]) {
    const { status, text } = await ring({ path, body: 'Hello', headers: { 'content-type': 'text/plain' } });
    assert.equal(status, 401, path);
    const body = JSON.parse(text) as object;
    const isGotify = path.endsWith('message');
    assert.deepEqual(
      Object.keys(body),
      isGotify ? ['error', 'errorCode', 'errorDescription'] : ['code', 'http', 'error'],
    );
    assert.ok(!text.includes(wrong));
  }
  const body = { topic: wrong, message: 'Hello' };
  assert.equal((await ring({ path: '/ring', body })).status, 401);
  for (const method of ['GET', 'DELETE'])
    assert.equal((await ring({ method, path: `/ring/${wrong}` })).status, 401);
  assert.equal((await ring({ method: 'PATCH' })).status, 405);
  assert.equal((await ring({ path: `${own}/a/b` })).status, 404);
  // a signature that is there must fit, and GitHub's own secret may be another one than ours
  const signed = { 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` };
  const refused = await ring({ headers: signed, body: {} });
  assert.deepEqual([refused.status, /signature/.test(refused.text)], [401, true]);
  const ofGitea = { ...signed, 'x-gitea-event': 'push', 'x-gitea-signature': 'x' };
  assert.equal((await ring({ headers: ofGitea, body: {} })).status, 401);
  const grafana = { 'x-grafana-alerting-signature': '0'.repeat(64), 'x-time': '1795860000' };
  for (const [headers, alerts] of [
    [{ 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': wrong }, undefined],
    [grafana, []],
  ] as const)
    assert.equal((await ring({ headers, body: { orgId: 1, alerts } })).status, 401);
  assert.deepEqual(await store.broadcasts.list({ limit: 1 }), []);
  assert.deepEqual(
    (await store.bells.requests(1)).map(({ tool, outcome }) => `${tool} ${outcome}`),
    ['Grafana refused', 'GitLab refused', 'Forgejo, Gitea refused', 'GitHub refused'],
  );
  await store.bells.rotate('alerts', hashBellSecret(wrong));
  assert.equal((await ring({})).status, 401);
  assert.equal((await ring({ path: `/ring/${wrong}` })).status, 200);
  assert.ok(!JSON.stringify(records).includes(secret));
  // a typing error can be seen, once a minute
  const unknown = records.filter((record) => JSON.stringify(record).includes('unknown bell'));
  assert.deepEqual(unknown, [{ event: 'unknown bell', secret: `${wrong.slice(0, 3)}…`, requests: 1 }]);
});

test('a link that is opened, or looked at by a preview, rings nothing', async (t) => {
  const { path: own, ring, secret, store } = await startBells(t);
  for (const path of [own, `${own}?title=x`, `${own}?message=`, `/ring?token=${secret}`]) {
    const { status, text } = await ring({ method: 'GET', path });
    assert.deepEqual([status, text.startsWith('This is the bell alerts. ')], [200, true], path);
    assert.ok(!text.includes(secret));
    assert.equal((await ring({ method: 'HEAD', path })).status, 200);
  }
  assert.equal((await ring({ method: 'HEAD', path: `${own}/trigger` })).status, 200);
  assert.deepEqual(await store.broadcasts.list({ limit: 1 }), []);
});

test('4 KiB are read before the secret is right, 1 MiB after', async (t) => {
  const { ring, secret, newest } = await startBells(t);
  const large = 'x'.repeat(1024 * 1024);
  assert.equal((await ring({ body: large })).status, 200);
  assert.equal(Buffer.byteLength(JSON.stringify((await newest())!.payload)), 3993);
  const refused = await ring({ body: `${large}x` });
  assert.deepEqual(JSON.parse(refused.text), {
    code: 41303,
    http: 413,
    error: 'the body is larger than the 1048576 bytes that are read',
  });
  // without a secret in the address, it must be in the first 4 KiB
  const json = (topic: string, before = '') => ({ before, topic, message: large.slice(0, 100_000) });
  assert.equal((await ring({ path: '/ring', body: json(secret) })).status, 200);
  assert.match(String((await newest())!.payload['message']), /^x+…$/);
  assert.equal((await ring({ path: '/ring', body: json(secret, large.slice(0, 4096)) })).status, 413);
  assert.equal((await ring({ path: '/ring', body: json(createBellSecret()) })).status, 413);
  assert.equal((await ring({ path: '/ring/other', body: large })).status, 401);
  // of a form, only the first fields are read
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  for (const [count, message] of [
    [999, 'Last'],
    [400_000, 'a&a'],
  ] as const) {
    await ring({ headers: type, body: `${'a&'.repeat(count)}message=Last` });
    assert.equal(String((await newest())!.payload['message']).slice(0, message.length), message);
  }
  // what is compressed counts as it is then
  for (const [encoding, body, status] of [
    ['gzip', gzipSync(large), 200],
    ['deflate', deflateSync(large), 200],
    ['br', brotliCompressSync('x'), 200],
    ['gzip', gzipSync(`${large}x`), 413],
    ['gzip', gzipSync(Buffer.alloc(16 * 1024 * 1024)), 413],
    ['gzip', Buffer.from('x'), 400],
    ['gzip', gzipSync(large).subarray(0, 500), 400],
    ['zstd', Buffer.from('x'), 415],
    ['constructor', Buffer.from('x'), 415],
  ] as const) {
    const answer = await ring({ headers: { 'content-encoding': encoding }, body });
    assert.equal(answer.status, status, `${encoding}: ${answer.text}`);
  }
});

test('what is sent is cut before a character as people see it, and fits with link and buttons', () => {
  const bell = {
    id: 1,
    name: 'alerts',
    audience: 'all',
    createdAtMs: 0,
    lastRequestAtMs: undefined,
  } as const;
  const family = '👨‍👩‍👧‍👦';
  const link = `https://example.org/${'a'.repeat(900)}`;
  for (const [text, character] of [
    [family.repeat(1000), family],
    ['é'.repeat(9000), 'é'],
    ['e\u0301'.repeat(9000), 'e\u0301'],
    ['"'.repeat(9000), '"'],
    [`a${'\u0301'.repeat(9000)}`, ''],
    ['\ud800'.repeat(9000), '\ufffd'],
  ] as const) {
    const actions = Array.from({ length: 3 }, () => ({ title: text, url: link }));
    for (const shown of [
      { text },
      { title: text, text, url: link, key: 'x' },
      { title: text, text, url: link, actions },
    ]) {
      const message = toMessage(bell, shown);
      assert.ok(encodePayload(message).length <= 3993);
      for (const given of [message.message, ...('title' in shown ? [message.title] : [])]) {
        const whole = given.replace(/…$/, '');
        assert.ok(given.isWellFormed() && given.endsWith('…'));
        assert.equal(whole.replaceAll(character, ''), '', JSON.stringify(character));
      }
      if (character !== '') assert.ok(Buffer.byteLength(JSON.stringify(message.message)) > 1400);
    }
  }
  const hostile = toMessage(
    { ...bell, url: '/status' },
    {
      text: 'a\u0000\u001b[31m\r\nb\t{name}',
      url: 'javascript:alert(1)',
      actions: [{ title: 'x', url: 'data:,x' }],
    },
  );
  assert.deepEqual(
    [hostile.message, hostile.url, hostile.actions, hostile.tag],
    ['a[31m\nb\t{name}', '/status', undefined, null],
  );
});

test('messages of no key replace nothing; those of one key replace each other', async (t) => {
  const { path: own, ring, newest } = await startBells(t);
  const tagAfter = async (path: string) => {
    assert.equal((await ring({ path, body: 'x' })).status, 200);
    return (await newest())!.payload['tag'];
  };
  const tags = [await tagAfter(own), await tagAfter(own), await tagAfter(`${own}/a`)];
  assert.equal(new Set(tags).size, 3);
  assert.equal(await tagAfter(`${own}/a`), tags[2]);
  const { topic } = (await newest())!;
  assert.equal(topic, tags[2]);
});

test('over the limit, what comes is answered as ever, and counted in one notification', async (t) => {
  const { ring, secret, store, newest, sender, bell, pass } = await startBells(t, {
    nowMs: 30_000_000 * minuteMs,
  });
  const atOnce = (count: number) =>
    Promise.all(Array.from({ length: count }, () => ring({ body: 'Disk is full' })));
  const answers = await atOnce(200);
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.equal((await store.broadcasts.list({ limit: 500 })).length, 31);
  const { payload, startAtMs } = (await newest())!;
  assert.deepEqual(
    [payload['title'], payload['message']],
    ['alerts: 170 more', 'In 1 minute. The last one: alerts: Disk is full'],
  );
  assert.equal(startAtMs, 30_000_001 * minuteMs + 5000);
  pass(minuteMs);
  await atOnce(32);
  const all = await store.broadcasts.list({ limit: 500 });
  const counting = all
    .map((broadcast) => readMessage(broadcast.payload)!)
    .filter(({ tag }) => tag?.startsWith('bell-'));
  assert.deepEqual(pluck(counting, 'title'), ['alerts: 172 more', 'alerts: 170 more']);
  assert.deepEqual(new Set(counting.map(({ tag }) => tag)), new Set([payload['tag']]));
  assert.equal(all.length, 62);
  assert.equal((await store.bells.requests(bell.id))[0]!.outcome, 'folded');
  // without a limit
  const bells = createBells({ store, sender, perMinute: 'off' });
  const head = { method: 'POST', path: [secret], headers: {}, query: new URLSearchParams(), secret };
  const posted = {
    ...head,
    bytes: Buffer.from('x'),
    text: 'x',
    value: undefined,
    fields: undefined,
    json: Buffer.from('x'),
  };
  assert.equal((await bells.ring(bell, posted)).outcome, 'rung');
});

test('a message for later waits; one with its sequence id, or DELETE, cancels it', async (t) => {
  const { path: own, ring, store, newest, bell } = await startBells(t);
  const path = `${own}/tea`;
  const later = async (delay: string) => {
    const { status, text } = await ring({ path, headers: { In: delay }, body: 'Tea' });
    assert.equal(status, 200, text);
    return (await newest())!;
  };
  const now = store.now();
  const first = await later('30 minutes');
  assert.equal(first.startAtMs - now, 30 * minuteMs);
  const second = await later(String(Math.floor(now / 1000) + 7200));
  assert.ok(Math.abs(second.startAtMs - now - 120 * minuteMs) < 1000);
  assert.equal((await store.broadcasts.get(first.id)).state, 'cancelled');
  for (const delay of ['tomorrow, 3pm', '5s', '4d']) {
    const { status, text } = await ring({ path, headers: { Delay: delay }, body: 'Tea' });
    assert.deepEqual([status, (JSON.parse(text) as { code: number }).code], [400, 40004]);
  }
  const other = await ring({ method: 'DELETE', path: `${own}/other` });
  assert.equal(other.status, 200);
  assert.equal((await store.broadcasts.get(second.id)).state, 'running');
  const deleted = await ring({ method: 'DELETE', path });
  assert.match(deleted.text, /"event":"message_delete"/);
  assert.equal((await store.broadcasts.get(second.id)).state, 'cancelled');
  const third = await later('1h');
  assert.match((await ring({ method: 'PUT', path: `${path}/clear` })).text, /"event":"message_clear"/);
  assert.equal((await store.broadcasts.get(third.id)).state, 'cancelled');
  assert.equal((await store.bells.requests(bell.id))[0]!.outcome, 'cancelled');
});

test('a delivery that is repeated rings once, and another one of its number again', async (t) => {
  const { ring, store, bell } = await startBells(t);
  const headers = { 'x-github-event': 'push', 'x-github-delivery': 'one' };
  const deliver = (body: object) => ring({ headers, body });
  assert.deepEqual(
    [(await deliver({ ref: 'a' })).text, (await deliver({ ref: 'a' })).text],
    ['{"outcome":"rung"}', '{"outcome":"repeated"}'],
  );
  assert.equal((await store.broadcasts.list({ limit: 9 })).length, 1);
  assert.equal((await deliver({ ref: 'b' })).text, '{"outcome":"rung"}');
  assert.deepEqual(pluck(await store.bells.requests(bell.id), 'outcome'), ['rung', 'repeated', 'rung']);
});

test('JSON Pointers of the bell say where text, title and link are; defaults of the bell fill in', async (t) => {
  const { ring, newest, store, bell } = await startBells(t, {
    bell: {
      textFrom: '/a~1b/0',
      titleFrom: '/host',
      urlFrom: '/links/self',
      title: 'Titled',
      url: 'https://a.example.org',
      urgency: 'low',
      audience: { user: 'me' },
    },
  });
  const shownOf = async (body: object) => {
    await ring({ body });
    const { payload, urgency, audience } = (await newest())!;
    assert.deepEqual(audience, { user: 'me' });
    return [payload['title'], payload['message'], payload['url'], urgency];
  };
  assert.deepEqual(
    await shownOf({ 'a/b': ['Full'], host: 'db1', links: { self: 'https://b.example.org/' } }),
    ['db1', 'Full', 'https://b.example.org/', 'low'],
  );
  assert.equal((await store.bells.requests(bell.id))[0]!.tool, 'fields of the bell');
  assert.deepEqual(await shownOf({ 'a/b': [7] }), ['Titled', '7', 'https://a.example.org', 'low']);
  assert.deepEqual(await shownOf({ host: 'db1', message: 'Usual' }), [
    'db1',
    'Usual',
    'https://a.example.org',
    'low',
  ]);
  assert.deepEqual(await shownOf({ 'a/b': [null], text: 'x', title: 'y' }), [
    'y',
    'x',
    'https://a.example.org',
    'low',
  ]);
});

test('whatever host it is called by, a bell rings, and nothing else answers there', async (t) => {
  const { ring } = await startBells(t);
  const headers = { host: 'bell.example.org', origin: 'https://other.example.org' };
  assert.equal((await ring({ headers, body: 'x' })).status, 200);
  assert.equal((await ring({ method: 'GET', path: '/v1/bells', headers })).status, 421);
  assert.equal((await ring({ path: '/console/sign-in', headers })).status, 421);
});

test('a bell whose channel was removed rings nothing, and says why', async (t) => {
  const { ring, store, bell } = await startBells(t, { bell: { channel: 'gone' } });
  assert.equal((await ring({ body: 'x' })).status, 503);
  const [request] = await store.bells.requests(bell.id);
  assert.deepEqual(
    [request!.outcome, request!.leftOut],
    ['refused', 'There is no channel "gone"; there are none yet.'],
  );
});

test('what cannot be stored is answered with 503, and neither the answer nor the log has the secret', async (t) => {
  const { path: own, ring, secret, store, records, newest } = await startBells(t);
  const { note } = store.bells;
  Object.assign(store.bells, { note: () => Promise.reject(new Error('The disk is full.')) });
  const answer = await ring({ path: `${own}?token=${secret}`, body: 'x' });
  assert.deepEqual(
    [answer.status, answer.text],
    [503, '{"code":50301,"http":503,"error":"the message was not stored: try again later"}'],
  );
  Object.assign(store.bells, { note });
  assert.match(JSON.stringify(records), /"event":"fault","method":"POST","url":"\/ring\/\*"/);
  assert.ok(!JSON.stringify([records, (await newest())!.idempotencyKey ?? null]).includes(secret));
});

test('the commands make, show, list, rotate and remove bells; serve has them on two listeners', async () => {
  const folder = await temporaryFolder();
  const environment = { DESKBELL_DATA: join(folder, 'data'), DESKBELL_SUBJECT: 'mailto:you@example.org' };
  const run = async (words: Words) => {
    const { exitCode, stdout, stderr } = await runCommand(words, { environment });
    return exitCode === 0 ? stdout : stderr;
  };
  const url = 'https://bell.example.org/ring';
  const flags = `--operator 127.0.0.1:0 --bells 127.0.0.1:0 --bells-url ${url}/`;
  const service = await serve(flags, { environment });
  await service.waitFor(/Nothing delivers here: add --deliver, or start "deskbell worker"\.$/);
  const [, operator = ''] = await service.waitFor(/operator’s listener is at (\S+)/);
  const [, own = ''] = await service.waitFor(/Bells are at (\S+)/);
  const words = 'bells add alerts --tag ops --urgency high --title Alerts --text-from /a';
  const address = await run(words);
  const [, secret = ''] = /^https:\/\/bell\.example\.org\/ring\/(A[\w-]{14})\n$/.exec(address) ?? [];
  assert.match(await run(words), /There is a bell alerts already\..*bells rotate.*\[ERR_BELL_EXISTS\]/);
  assert.match(await run('bells add x'), /Choose whom the bell rings: --user, .*\[ERR_USAGE\]/);
  assert.match(await run('bells add x --all --channel none'), /\[ERR_CHANNEL_NOT_FOUND\]/);
  for (const flag of ['--text-from=a', '--url=javascript:1', '--title= ', '--user=', '--tag=a b'])
    assert.match(
      await run(['bells', 'add', 'x', ...(/user|tag/.test(flag) ? [] : ['--all']), flag]),
      new RegExp(
        `^deskbell: ${flag.split('=')[0]} .*See "deskbell bells add --help"\\. \\[ERR_REQUEST_INVALID\\]`,
      ),
      flag,
    );
  assert.match(
    await run(['bells', 'add', 'my bell', '--all']),
    /^deskbell: <name> is not usable: The name of a bell must be/,
  );
  const [second] = parseLines(await run('bells add second --user me --json'));
  assert.deepEqual([second.name, second.url.startsWith(`${url}/A`)], ['second', true]);

  for (const [base, path] of [
    [operator, `/ring/${secret}`],
    [own, `/ring/${secret}`],
    [own, `/${secret}`],
  ] as const)
    assert.equal((await ask(base, { path, body: { a: 'Disk is full' } })).status, 200);
  assert.equal((await ask(own, { path: '/', body: { topic: secret, b: [1] } })).status, 200);
  assert.equal((await ask(own, { method: 'GET', path: '/v1/bells' })).status, 401);
  for (const tool of requestsOf('', secret).slice(0, 3)) assert.equal((await ask(own, tool)).status, 200);

  // the public listener has no bells, and hides what a proxy sends there by mistake
  const lost = await ask(service.address, { path: `/ring/${secret}?auth=${secret}` });
  assert.deepEqual([lost.status, /bells are on the operator’s listener/.test(lost.text)], [404, true]);
  await service.waitFor(/"url":"\/ring\/\*\*\*\?auth=\*\*\*"/);

  const shown = await run('bells show alerts');
  assert.match(shown, /^alerts {2}to subscriptions with all of the tags ops {2}last at 20/);
  assert.match(shown, /\n {2}urgency {2}high\n/);
  assert.match(
    shown,
    /Z {2}fields of the bell {2}rung {2}broadcast 1 {2}“Alerts: Disk is full”\n {4}reached nobody: nobody is subscribed\n/,
  );
  const [{ requests }] = parseLines(await run('bells show alerts --json'));
  assert.deepEqual([requests.length, requests.at(-1).message], [7, 'Disk is full']);
  assert.match(await run('bells list'), /^alerts {2}.*\nsecond {2}to the user "me" {2}nothing came yet\n$/);
  const { stdout: findings } = await runCommand('doctor', { environment });
  assert.match(
    findings,
    /workers +none delivers now.*\n.*bells +the newest message reached nobody: alerts\n/,
  );
  const empty = await runCommand('broadcasts show 1', { environment });
  assert.match(empty.stdout, /\n {2}reached nobody: the audience was empty\n$/);
  const rotated = await run('bells rotate alerts');
  assert.match(rotated, /\/ring\/A[\w-]{14}\n$/);
  assert.equal((await ask(own, { path: `/${secret}` })).status, 401);
  assert.equal(await run('bells remove alerts'), 'Removed the bell alerts.\n');
  assert.match(await run('bells show alerts'), /\[ERR_BELL_NOT_FOUND\]/);
  const unheard = await runCommand('bells add third --user me', { environment });
  assert.match(unheard.stderr, /Nobody gets it yet: .* invite me/);
  assert.match(
    await run('bells add x --all --bells-url http://a.example.org'),
    /"https:", since its path has/,
  );
  assert.ok(![service.written(), shown].join('').includes(secret));
});
