// What is left of a person who was removed: every table is looked through, whichever suite tests it.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { decodeIds } from '../../src/store/id-set.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-store.ts';
import { fastFolder } from '../../tools/fast-folder.ts';
import { dumpDatabase, fillDatabase } from './filled-database.ts';

/** Beside what the filled database has of Zoë: a subscription that was there before its user, and one that has ended. */
const stored = 1;
const ended = 7;
const others = `
  update subscriptions set user_name = 'Zoë' where id = ${stored};
  -- of a broadcast to Zoë alone, on pages of its own
  update broadcasts set payload = cast('${'Only for Zoë. '.repeat(2000)}' as blob) where user_name = 'Zoë';
  insert into people (user_name, data, updated_at_ms) values ('Zoë', '{"name":"Zoë"}', 7);
  insert into schedules (id, cron, timezone, audience, user_name, message, ttl_seconds, urgency, receipts, created_at_ms, next_at_ms)
    values (3, '0 9 * * 1', 'UTC', '{"user":"Zoë"}', 'Zoë', '{"title":"z","message":"a"}', 60, 'high', 0, 1, 2);
  insert into accepted_subscriptions (push_service_id, slot, subscription_id) values (5, 2, ${stored}), (5, 3, ${ended});
  -- it ends when it is removed
  insert into gone_marks (subscription_id, origin, answer_window, marked_at_ms, updated_at_ms)
    values (${stored}, 'http://a', 1, 50, 7);
  insert into receipts (broadcast_id, subscription_id, event) values (3, ${ended}, 'shown');
  insert into person_reaches (person, broadcast_id, at_ms, is_accepted)
    values ('subscription:${stored}', 3, 5, 1), ('subscription:${ended}', 3, 5, 1);
  -- of another person
  insert into webhook_events (id, type, at_ms, due_at_ms, attempts, user_name)
    values ('0c', 'subscription.gone', 1, 2, 3, 'other');
  insert into ended_subscriptions (id, endpoint, gone_at_ms, user_name) values (8, 'http://a/8', 2, 'other');
  insert into person_reaches (person, broadcast_id, at_ms, is_accepted) values ('user:other', 3, 5, 1);
  update invitations set user_name = 'other' where user_name = 'x';
  update schedules set user_name = 'other' where id = 2;
  update bells set user_name = 'other' where id = 3;
  update broadcasts set user_name = 'other' where id = 7;
  -- more broadcasts than are looked through at once, each with a set of nobody else
  insert into broadcasts (id, content_hash, state, payload, ttl_seconds, urgency, rows_in, audience, created_at_ms, start_at_ms, expires_at_ms, removals_after)
    with recursive n (id) as (select 101 union all select id + 1 from n where id < 125)
    select id, x'', 'done', x'', 60, 'low', 'all', 1, 1, 2, 3, 0 from n;
  insert into attempt_sets (broadcast_id, at_ms, since_ms, outcome, attempt, answer_id, first_id, last_id, rows, ids)
    select id, 70, 60, 'accepted', 1, 5, ${ended}, ${ended}, 1, x'0${ended}' from broadcasts where id > 100;
  insert into audiences (id, members, created_at_ms) select id, 1, 1000 from broadcasts where id > 100;
  insert into audience_sets (audience_id, number, first_id, last_id, rows, ids)
    select id, 0, ${ended}, ${ended}, 1, x'0${ended}' from audiences where id > 100;
`;

/** Tables in which a person is counted, or waits without a name. */
const counting = new Set(
  'held_marks removed_rows retries slices sqlite_sequence subscription_counts subscription_days waiting_rows work'.split(
    ' ',
  ),
);

test('a person who is removed is in no table any more, nor in the file', async (t) => {
  const folder = mkdtempSync(join(fastFolder(), 'deskbell-removed-person-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'deskbell.db');
  await fillDatabase(path);
  const database = new DatabaseSync(path);
  database.exec(others);
  const { endpoint } = database.prepare(`select endpoint from subscriptions where id = ${stored}`).get()!;
  database.close();
  const findTraces = (): readonly string[] =>
    Object.entries(dumpDatabase(path)).flatMap(([table, rows]) =>
      // the id alone stays until the broadcasts that were open then are over
      table === 'removals'
        ? []
        : rows.filter((row) => isTrace(table, row, endpoint)).map((row) => `${table} ${row}`),
    );

  const tables = new Set(findTraces().map((trace) => trace.split(' ')[0]));
  assert.ok(tables.size >= 12, [...tables].join(' '));
  const before = dumpDatabase(path);
  for (const table of [
    'webhook_events',
    'ended_subscriptions',
    'schedules',
    'broadcasts',
    'invitations',
    'bells',
  ])
    assert.ok(
      before[table]!.some((row) => row.includes('"other"')),
      table,
    );
  const store = await openSqliteStore({ path });
  const isInFile = (): boolean => readFileSync(path).includes('Only for Zoë.');
  assert.ok(isInFile());
  assert.deepEqual(await store.people.remove('Zoë'), {
    subscriptions: 1,
    ended: 1,
    broadcasts: 1,
    schedules: 1,
    bells: 1,
    recipients: 27,
    attempts: 26,
    receipts: 3,
  });
  assert.ok(!isInFile(), 'it is overwritten');
  assert.equal(statSync(`${path}-wal`).size, 0);
  await store.close();
  assert.deepEqual(findTraces(), []);
  const afterwards = dumpDatabase(path);
  for (const [table, rows] of Object.entries(before)) {
    if (counting.has(table)) continue;
    const ofOthers = rows.filter((row) => !isTrace(table, row, endpoint));
    assert.deepEqual(
      ofOthers.filter((row) => !afterwards[table]!.includes(row)),
      [],
      `${table}: what is of others stays`,
    );
  }
});

const isOwn = (id: unknown): boolean => id === stored || id === ended;

/** Whether it names the person, or a subscription of theirs. */
function isTrace(table: string, text: string, endpoint: unknown): boolean {
  const row = JSON.parse(text) as Readonly<Record<string, unknown>>;
  if (table.endsWith('subscriptions') && isOwn(row['id'])) return true;
  if (isOwn(row['subscription_id']) || row['bell_id'] === 2) return true;
  if (table === 'attempt_sets' && (isOwn(row['first_id']) || isOwn(row['last_id']))) return true;
  if (['attempt_sets', 'audience_sets'].includes(table)) {
    const bytes = Uint8Array.from(Object.values(row['ids'] as Readonly<Record<string, number>>));
    if (decodeIds(bytes).some(isOwn)) return true;
  }
  return Object.values(row).some(
    (value) =>
      typeof value === 'string' && (/^(?:user:)?Zoë$|^subscription:[17]$/.test(value) || value === endpoint),
  );
}
