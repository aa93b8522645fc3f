// Two migrations and a changed function upgrade a PostgreSQL database while three processes send a broadcast from it, browsers
// register, single messages are sent, and a dump is open that has locked every table. Nobody waits for long, no process ends, there is
// no deadlock, and nobody is left out of the broadcast.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSender } from '../src/delivery/sender.ts';
import { startPushService } from '../src/push-service/index.ts';
import { PostgresDatabase } from '../src/store/postgres/database.ts';
import { describeFunctions, functionsText } from '../src/store/postgres/functions/all-functions.ts';
import { migrate } from '../src/store/postgres/migrate.ts';
import { migrations, schemaVersion } from '../src/store/postgres/migrations.ts';
import { openPostgresStore } from '../src/store/postgres/open-store.ts';
import {
  assertDone,
  message,
  quickRetries,
  storeSinks,
  timesReceived,
  vapid,
  vapidKeys,
} from '../test/delivery/broadcast-bench.ts';
import { madeUpSubscription } from '../test/store/made-up-subscription.ts';
import { connect, readRows } from '../tools/postgres-client.ts';
import { useSharedServer } from '../tools/postgres-server.ts';
import { until } from '../tools/until.ts';
import { startDelivering } from './delivering-process.ts';
import { scaled } from './scale.ts';

const rows = scaled(100_000);
const senders = 3;
/** Slow, so that the broadcast lasts longer than dump and migrations. */
const answerAfterMs = 500;
const worker = { maxPageRows: 256, maxDetachedRows: 512, retryLeaseRows: 64 };
const dumpMs = 10_000;
const longestWaitMs = 2000;
const longestMs = 30 * 60 * 1000;
const lookEveryMs = 50;

const added = [
  ...migrations,
  'alter table deskbell.subscriptions add column country text',
  { index: 'subscriptions_by_country', on: 'subscriptions', by: '(country, id)' },
];
const changedText = functionsText().replace('* 1000)::bigint)', '* 1000)::bigint + 0)');
const changedFunctions = describeFunctions(schemaVersion + 2, changedText);

const getServer = useSharedServer();

test(`an upgrade during a broadcast to ${rows}, registrations, single messages and a dump`, async (t) => {
  await using stack = new AsyncDisposableStack();
  const { url } = await (await getServer()).createDatabase();
  const named = (name: string): string => {
    const address = new URL(url);
    address.searchParams.set('application_name', name);
    return address.href;
  };
  const store = stack.adopt(await openPostgresStore({ url }), (opened) => opened.close());
  const pushService = stack.use(await startPushService({ checksBodies: false, tls: true }));
  const others = stack.use(await startPushService({ checksBodies: false, tls: true }));
  await storeSinks(store, pushService, rows);
  pushService.faults.inject({ kind: 'delay', ms: answerAfterMs });
  pushService.faults.inject({ kind: 'status', status: 503, share: 0.05 });

  const pushServices = [pushService, others].map(({ origin }) => origin);
  const ca = [...pushService.ca, ...others.ca];
  const options = { vapid, pushServices, ca, threads: 1, retryPolicy: quickRetries, worker };
  const sender = stack.adopt(createSender({ ...options, store }), (opened) => opened.close());
  const { broadcast } = await sender.createBroadcast('all', message);
  const find = async () => (await store.broadcasts.find(broadcast.id))!;
  const children = Array.from({ length: senders }, () => {
    const child = startDelivering(store.address, options);
    stack.defer(() => void child.kill('SIGKILL'));
    return child;
  });
  const messages = (): number => pushService.tallySinks()[0]?.messages ?? 0;
  await until(() => messages() > rows / 50, 'the broadcast to begin', longestMs);

  const over = new AbortController();
  const longest = { registration: 0, message: 0, lock: 0 };
  const repeat = async (what: keyof typeof longest, work: (index: number) => Promise<unknown>) => {
    for (let index = 0; !over.signal.aborted; index += 1) {
      const startedMs = performance.now();
      await work(index);
      longest[what] = Math.max(longest[what], performance.now() - startedMs);
      await sleep(lookEveryMs);
    }
  };
  const { publicKey: vapidPublicKey } = vapidKeys;
  const singles = [...others.createSinks(100, { vapidPublicKey })];
  const looking = stack.use(await connect(named('looking')));
  const load = Promise.all([
    repeat('registration', (index) =>
      store.subscriptions.register({ subscription: madeUpSubscription(index), vapidPublicKey }),
    ),
    repeat('message', async (index) => {
      const { outcome } = await sender.send(singles[index % singles.length]!, message);
      assert.equal(outcome.kind, 'accepted');
    }),
    (async () => {
      while (!over.signal.aborted) {
        const { rows: waiting } = await looking.query<{ readonly ms: number | null }>(
          `select max(extract(epoch from clock_timestamp() - query_start) * 1000)::int as ms from pg_stat_activity
           where wait_event_type = 'Lock' and datname = current_database() and application_name <> 'upgrade'`,
        );
        longest.lock = Math.max(longest.lock, waiting[0]?.ms ?? 0);
        await sleep(lookEveryMs);
      }
    })(),
  ]);

  const dump = stack.use(await connect(named('dump')));
  await dump.query('begin isolation level repeatable read');
  const { rows: tables } = await dump.query<{ readonly name: string }>(
    `select 'deskbell.' || tablename as name from pg_tables where schemaname = 'deskbell'`,
  );
  await dump.query(`lock table ${tables.map(({ name }) => name).join(', ')} in access share mode`);

  const newer = stack.adopt(await PostgresDatabase.open({ url: named('upgrade') }), (opened) =>
    opened.close(),
  );
  const warnings: string[] = [];
  const startedMs = performance.now();
  const migrated = migrate(newer, added, changedFunctions, (warning) => warnings.push(warning));
  await Promise.race([sleep(dumpMs), migrated]);
  assert.match(warnings.join('\n'), /waits for session \d+ of the database \("dump"/);
  await dump.query('commit');
  await migrated;
  const upgradedMs = performance.now() - startedMs;
  assert.equal((await find()).state, 'running', 'the upgrade fell into the broadcast');
  await until(async () => (await find()).state !== 'running', 'the end of the broadcast', longestMs);
  over.abort();
  await load;

  const ends = children.map((child) => once(child, 'exit'));
  for (const child of children) child.kill('SIGTERM');
  for (const [code] of await Promise.all(ends)) assert.equal(code, 0, 'how a sender ended');
  const waits = Object.entries(longest).map(([what, ms]) => `${what} ${Math.round(ms)} ms`);
  t.diagnostic(`upgraded in ${(upgradedMs / 1000).toFixed(1)} s; longest: ${waits.join(', ')}`);
  for (const [what, ms] of Object.entries(longest)) assert.ok(ms <= longestWaitMs, `${what}: ${ms} ms`);
  assert.equal(timesReceived(pushService)['0'] ?? 0, 0, 'nobody is left out');
  assertDone(await find(), { accepted: rows });
  const [database] = await readRows<{ readonly deadlocks: string; readonly version: number }>(
    url,
    `select deadlocks, (select version from deskbell.schema_version) as version
     from pg_stat_database where datname = current_database()`,
  );
  assert.deepEqual([Number(database?.deadlocks), database?.version], [0, schemaVersion + 2]);
});
