// The store says of every row of a broadcast what came of it, whatever came: two push services with lists of their own, written
// here and not by Deskbell, are compared with it row by row. One refuses our token for a while, the other answers all that there
// is; a process that sends is killed in the middle.
import assert from 'node:assert/strict';
import { createECDH, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import { test, type TestContext } from 'node:test';
import { maxUncommittedRows } from '../../src/delivery/settings/settings.ts';
import { makeCertificate } from '../../src/push-service/http/certificate.ts';
import type { AttemptOutcome, AttemptRecord } from '../../src/store/attempts.ts';
import type { Store } from '../../src/store/store.ts';
import { until } from '../../tools/until.ts';
import { openTestStore } from '../store/test-database.ts';
import { startSendingChild } from './start-sending-child.ts';
import { vapidKeys } from './broadcast-bench.ts';
import { listenOnNewPort } from '../../tools/listening.ts';

const maxAttempts = 2;
/** Each of so many is asked for by itself too. */
const sampledEach = 50;

interface Reply {
  readonly status: number;
  readonly retryAfter?: number;
  readonly afterMs?: number;
}

/** What the row gets to its request of this number, from 0. */
type Behaviour = (row: number, request: number) => Reply;

const accepted: Reply = { status: 201 };

/** A row's outcome at the push service that answers all that there is, by the last digits of its number. */
const mixed: Behaviour = (row, request) => {
  // so late that the row is detached from its page
  if (row % 500 === 100) return { ...accepted, afterMs: 1300 };
  if (row % 10 === 7) return { status: 410 };
  if (row % 10 === 8) return { status: 400 };
  // so few that its push service is not spared
  if (row % 3000 === 99) return { status: 503 };
  if (row % 10 === 9) return { status: 425 };
  if (row % 10 === 6 && request === 0) return { status: 503 };
  // later than the message lives
  if (row % 10 === 5) return { status: 425, retryAfter: 100 * 86_400 };
  return accepted;
};

const endpointKeys = createECDH('prime256v1').generateKeys();

test('the store knows what came of each of 20,000 rows, as the push services do', async (t) => {
  const { store, remove } = await openTestStore();
  t.after(remove);
  const certificate = makeCertificate(['127.0.0.1']);
  let refusesToken = true;
  const behaviours: readonly [rows: number, Behaviour][] = [
    [19_000, mixed],
    [1000, () => (refusesToken ? { status: 403 } : accepted)],
  ];
  const services: Awaited<ReturnType<typeof startService>>[] = [];
  for (const [rows, behaviour] of behaviours) {
    const service = await startService(t, certificate, behaviour);
    await store.subscriptions.putAll(
      Array.from({ length: rows }, (_, row) => ({
        subscription: {
          endpoint: `${service.origin}/${row}`,
          p256dh: endpointKeys,
          auth: randomBytes(16),
        },
        vapidPublicKey: vapidKeys.publicKey,
      })),
    );
    services.push(service);
  }
  const rows = await store.subscriptions.page({ afterId: 0, limit: 100_000 });
  const audience = rows.length;
  assert.equal(audience, 20_000);

  const start = () =>
    startSendingChild({
      address: store.address,
      origin: services[0]!.origin,
      vapidKeys,
      options: {
        pushServices: services.map(({ origin }) => origin),
        ca: [certificate.cert],
        threads: 1,
        retryPolicy: { firstDelayMs: 100, maxDelayMs: 400, maxAttempts },
      },
    });
  const killed = start();
  const killedEnd = once(killed, 'exit');
  await until(() => services[0]!.requests() > audience / 4, 'a quarter of the requests');
  killed.kill('SIGKILL');
  await killedEnd;
  const answeredBefore = services.map(({ rowsAnswered }) => rowsAnswered());
  const last = start();
  const lastEnd = once(last, 'exit');
  const [broadcast] = await store.broadcasts.list({ limit: 1 });
  assert.ok(broadcast);
  const find = () => store.broadcasts.get(broadcast.id);
  const isSuspended = async () => (await find()).heldBack.length > 0;
  await until(isSuspended, 'a push service that is suspended');
  refusesToken = false;
  assert.deepEqual(await lastEnd, [0, null]);

  const { state, counts } = await find();
  assert.equal(state, 'done');
  const histories = await readHistories(store, broadcast.id);
  assert.equal(histories.size, audience, 'of each row something is known');

  let unstored = 0;
  for (const { id, endpoint } of rows) {
    const index = services.findIndex(({ origin }) => endpoint.startsWith(`${origin}/`));
    const service = services[index]!;
    const row = Number(endpoint.slice(service.origin.length + 1));
    const answered = service.answersTo(row);
    const history = histories.get(id)!;
    const stored = history.flatMap(({ status }) => status ?? []);
    const end = history.at(-1)!;
    const what = `row ${id}: ${JSON.stringify(history)}, the push service: ${answered.join()}`;
    assert.equal(end.outcome, expectedOutcome(answered, row), what);
    if (stored.length > 0) assert.equal(stored.at(-1), answered.at(-1), what);
    // what the killed process had not stored was sent again
    if (answeredBefore[index]!.has(row)) assert.ok(isWithin(stored, answered), what);
    else assert.deepEqual(stored, answered, what);
    unstored += answered.length - stored.length;
  }
  assert.ok(unstored <= maxUncommittedRows, `${unstored} answers are not stored`);

  const ends = [...histories.values()].map((history) => history.at(-1)!.outcome);
  for (const outcome of ['accepted', 'gone', 'rejected', 'expired', 'exhausted'] as const) {
    const known = ends.filter((end) => end === outcome).length;
    assert.ok(known > 0, `${outcome} happens`);
    assert.equal(known, counts[outcome], `the counts of ${outcome} are those of the rows`);
  }
  await assertSampled(store, broadcast.id, histories);
  await assertCounted(store, broadcast.id, histories);
});

/** @returns what came of each subscription, the oldest first */
async function readHistories(store: Store, broadcastId: number): Promise<Map<number, AttemptRecord[]>> {
  const newestFirst = await store.attempts.list({ broadcastId, limit: 1_000_000 });
  return Map.groupBy(newestFirst.toReversed(), ({ subscriptionId }) => subscriptionId);
}

/** What a row ends with, by the last answer. */
const endOf: Readonly<Record<number, AttemptOutcome>> = {
  201: 'accepted',
  400: 'rejected',
  410: 'gone',
  425: 'exhausted',
  503: 'exhausted',
};

function expectedOutcome(answered: readonly number[], row: number): AttemptOutcome | undefined {
  const last = answered.at(-1);
  return last === 425 && row % 10 === 5 ? 'expired' : endOf[last ?? 0];
}

/** Whether the one is what is left of the other where some are left out. */
function isWithin(some: readonly number[], all: readonly number[]): boolean {
  let found = 0;
  for (const each of all) if (each === some[found]) found += 1;
  return found === some.length;
}

async function assertSampled(
  store: Store,
  broadcastId: number,
  histories: ReadonlyMap<number, readonly AttemptRecord[]>,
): Promise<void> {
  const ids = [...histories.keys()].filter((_, index) => index % sampledEach === 0);
  for (const { subscriptionId, state, attempts } of await store.attempts.outcomesOf(broadcastId, ids)) {
    const history = histories.get(subscriptionId)!;
    assert.equal(state, history.at(-1)?.outcome);
    assert.deepEqual(attempts.toReversed(), history);
    assert.ok(attempts.every(({ sinceMs, atMs }) => sinceMs <= atMs));
  }
}

const kind = ({ origin, outcome, status, reason, detail }: Partial<AttemptRecord>) =>
  JSON.stringify([origin, outcome, status, reason, detail]);

async function assertCounted(
  store: Store,
  broadcastId: number,
  histories: ReadonlyMap<number, readonly AttemptRecord[]>,
): Promise<void> {
  const all = [...histories.values()].flat().filter(({ outcome }) => outcome !== 'accepted');
  const expected = [...Map.groupBy(all, kind)].map(([key, attempts]) => [key, attempts.length]);
  const answers = await store.attempts.countAnswers([broadcastId]);
  assert.deepEqual(answers.map((answer) => [kind(answer), answer.rows]).sort(), expected.sort());
}

/** A push service that answers as it is told, and takes down what it has answered to whom. */
async function startService(
  t: TestContext,
  certificate: { readonly key: string; readonly cert: string },
  behaviour: Behaviour,
) {
  const answers = new Map<number, number[]>();
  let requests = 0;
  const server = createSecureServer({ ...certificate, settings: { maxConcurrentStreams: 200 } });
  const respond = (stream: ServerHttp2Stream, row: number, { status, retryAfter }: Reply): void => {
    if (stream.destroyed) return;
    answers.set(row, [...(answers.get(row) ?? []), status]);
    const wait = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
    stream.respond({ ':status': status, ...wait });
    stream.end();
  };
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    const row = Number(String(headers[':path']).slice(1));
    const reply = behaviour(row, answers.get(row)?.length ?? 0);
    requests += 1;
    // of a process that is killed
    stream.on('error', () => {});
    stream.resume();
    stream.on('end', () => {
      if (reply.afterMs === undefined) respond(stream, row, reply);
      else setTimeout(() => respond(stream, row, reply), reply.afterMs).unref();
    });
  });
  server.on('sessionError', () => {});
  const port = await listenOnNewPort(server);
  t.after(() => server.close());
  return {
    origin: `https://127.0.0.1:${port}`,
    requests: () => requests,
    rowsAnswered: (): ReadonlySet<number> => new Set(answers.keys()),
    answersTo: (row: number): readonly number[] => answers.get(row) ?? [],
  };
}
