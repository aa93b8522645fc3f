// Every example starts, answers a request of its own and ends; each mechanism's example is short. The shops are run in
// a browser in test/browser/shop.all.test.ts.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { createUserAgent, startPushService } from '../src/push-service/index.ts';
import { build } from '../tools/pack.ts';
import { until } from '../tools/until.ts';
import { Project } from './journeys/project.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const folder = join(root, 'examples');

/** What each example prints of the request that it makes, beside the status. */
const expected: Readonly<Record<string, readonly RegExp[]>> = {
  'logging-in-action.ts': [
    /"mechanism":"action","phase":"result".*"body":\{"name":"Ada"\}.*"result":\{"greeting":"Hello"\}/,
  ],
  'logging-filter.ts': [/"mechanism":"filter","phase":"result".*"status":200,"elapsedMs":\d+/],
  'logging-authenticator.ts': [
    /"mechanism":"authenticator","phase":"request".*"session":\{"SESSION":"ada"\},"verdict":"pass"/,
  ],
  'logging-action-creator.ts': [
    /"mechanism":"action-creator","phase":"request"/,
    /"mechanism":"action-creator","phase":"result"/,
  ],
};

describe('the examples', () => {
  let temporary: string;

  before(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'deskbell-examples-'));
    // They import the package by its name, which is what has been built.
    await build();
  });
  after(() => rm(temporary, { recursive: true }));

  test('are all run here', async () => {
    const files = (await readdir(folder)).filter(
      (file) => file.endsWith('.ts') && file !== 'serve-or-check.ts',
    );
    assert.deepEqual(files.sort(), ['express.ts', 'fastify.ts', ...Object.keys(expected)].sort());
  });

  for (const [file, patterns] of Object.entries(expected)) {
    test(`${file} answers`, async () => {
      const { stdout } = await run(process.execPath, [join(folder, file), '--check'], {
        timeout: 30_000,
        env: { ...process.env, TMPDIR: temporary },
      });
      for (const pattern of [/^200 /m, ...patterns]) assert.match(stdout, pattern);
    });
  }

  for (const framework of ['express', 'fastify']) {
    test(`${framework}.ts sends after a crash what the push service had put off`, async () => {
      await using pushService = await startPushService();
      await using userAgent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
      await using project = await Project.create({
        environment: { PORT: '0', PUSH_SERVICES: pushService.origin },
      });
      await using shops = new AsyncDisposableStack();
      const start = async () => {
        const shop = shops.use(project.start(`node ${join(folder, framework)}.ts`));
        const [, port = ''] = await shop.waitFor(/^The shop listens on .*?(\d+)\D*$/);
        return { shop, port, url: `http://localhost:${port}` };
      };
      const { shop, url } = await start();
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ user: 'ada', password: 'lovelace' });
      const signedIn = await fetch(`${url}/sign-in`, { method: 'POST', headers, body });
      const cookie = signedIn.headers.getSetCookie()[0]!.split(';', 1)[0]!;
      const post = (path: string, sent: unknown) =>
        fetch(url + path, { method: 'POST', headers: { ...headers, cookie }, body: JSON.stringify(sent) });
      const key = (await (await fetch(`${url}/push/vapidKey`)).json()) as string;
      const { endpoint, p256dh, auth } = await userAgent.subscribe(key);
      assert.equal((await post('/push/webPush', { endpoint, p256dh, auth })).status, 200);
      const fault = pushService.faults.inject({ kind: 'status', status: 503 });

      assert.equal((await post('/orders', {})).status, 204);
      await until(() => pushService.faults.list().some(({ hits }) => hits > 0), 'an attempt');
      await shop.stop('SIGKILL');
      pushService.faults.cancel(fault.id);
      const next = await start();

      assert.equal(((await userAgent.nextMessage(120_000)).json() as { title: string }).title, 'Thank you');

      const other = shops.use(project.start(`env PORT=${next.port} node ${join(folder, framework)}.ts`));
      await assert.rejects(other.waitFor(/^The shop listens/), /has ended/, 'its port is in use');
      assert.equal(await other.stop(), 1);
      assert.equal(await next.shop.stop('SIGTERM'), 0);
    });
  }

  for (const file of Object.keys(expected).filter((name) => name.startsWith('logging-'))) {
    test(`${file} has under 40 lines`, async () => {
      assert.ok((await readFile(join(folder, file), 'utf8')).split('\n').length < 40);
    });
  }
});
