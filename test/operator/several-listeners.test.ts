// Several operator's listeners on one PostgreSQL database, as several `serve` processes have them: any of them answers any
// request, whichever of them an operator has signed in to or asked before.
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createSender } from '../../src/delivery/sender.ts';
import { createMetrics } from '../../src/operator/metrics/metrics.ts';
import { createOperator } from '../../src/operator/create-operator.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { openAgain, usePostgres } from '../store/test-database.ts';
import { createVisitor, signIn } from './console-visitor.ts';
import { startStage, type RunningOperator } from './running-operator.ts';

usePostgres();
const message = { title: 'Ding dong', message: 'Tea is ready' };
const ignore = (): void => {};

/** Another listener with a store of its own on the same database. @returns its address */
async function startAnother(t: TestContext, stage: RunningOperator): Promise<{ readonly base: string }> {
  const store = await openAgain(stage.store);
  const sender = createSender({
    vapid: { ...generateVapidKeys(), subject: 'mailto:push@example.org' },
    store,
    threads: 0,
  });
  const where = { host: '127.0.0.1', port: 0 };
  const app = createOperator({
    ...where,
    store,
    sender,
    log: { info: ignore, error: ignore },
    metrics: createMetrics(store),
    hashPerson: (user) => `#${user.length}`,
  });
  await app.listen(where);
  t.after(async () => {
    await app.close();
    await sender.close();
    await store.close();
  });
  return { base: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}` };
}

test('who has signed in to the console at one of them is signed in to all, and signs out of all', async (t) => {
  const stage = await startStage(t, [{}]);
  const { broadcast } = await stage.sender.createBroadcast('all', message, {
    startAt: new Date('2099-01-01T00:00Z'),
  });
  const other = createVisitor(await startAnother(t, stage));
  const visitor = await signIn(stage);
  other.cookie = visitor.cookie;
  const page = `/console/broadcasts/${broadcast.id}`;
  assert.deepEqual([(await other.open(page)).url, other.page.status], [page, 200]);
  await visitor.open(page);
  assert.equal(csrfOf(other.page.html), csrfOf(visitor.page.html), 'a form of one is taken by the other');
  await other.submit(`${page}/pause`);
  assert.equal((await stage.store.broadcasts.find(broadcast.id))?.state, 'paused');
  await other.submit('/console/sign-out');
  assert.match((await visitor.open(page)).url, /sign-in/);
});

test('a broadcast is made once for its Idempotency-Key, whichever of them is asked', async (t) => {
  const stage = await startStage(t, [{}]);
  const bases = [stage.base, (await startAnother(t, stage)).base];
  const authorization = `Bearer ${await stage.add('shop', 'full')}`;
  const answers = await Promise.all(
    [...bases, ...bases].map((base) =>
      fetch(`${base}/v1/broadcasts`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json', 'idempotency-key': 'tea-1' },
        body: JSON.stringify({ audience: 'all', message, startAt: '2099-01-01T09:00:00Z' }),
      }),
    ),
  );
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 200, 200, 201]);
  const ids = await Promise.all(
    answers.map(async (answer) => ((await answer.json()) as { readonly id: number }).id),
  );
  assert.equal(new Set(ids).size, 1);
});

test('events of a broadcast are sent by one of them while another process delivers it', async (t) => {
  const stage = await startStage(t, [{}, {}, {}]);
  const { base } = await startAnother(t, stage);
  const { broadcast } = await stage.sender.createBroadcast('all', message);
  const events = await fetch(`${base}/v1/broadcasts/${broadcast.id}/events`, {
    headers: { authorization: `Bearer ${await stage.add('shop', 'read')}` },
  });
  const run = await stage.sender.resume(broadcast.id);
  await run.finished;
  const text = await events.text();
  assert.match(text, /event: progress/);
  assert.match(text, /event: done\nid: \S+\ndata: [^\n]*"accepted":3/);
});

const csrfOf = (html: string): string | undefined => /name="csrf" value="([\w-]+)"/.exec(html)?.[1];
