// PostgreSQL with five million subscriptions: how long an audience of nearly all takes to be found by tag, how long others who
// write wait meanwhile, and what the next message to one person costs then. `--rows` sets how many there are.
import { printTable } from './measure/table.ts';
import { measureAudience } from './audiences/measure-audience.ts';
import { withBenchServer } from './postgres/database-server.ts';
import { openPostgresStore } from '../src/store/postgres/open-store.ts';
import { Client } from 'pg';

const goals = { seconds: 60, waitMs: 250, nextMs: 100 };
const rowsAtOnce = 100_000;
/** Messages to one person that follow, each from a process that has just started. */
const people = 5;
/** One in fifty has the tag that the large audience leaves out. */
const tags = 50;

export async function bench({
  quick,
  rows = quick ? 200_000 : 5_000_000,
}: {
  readonly quick: boolean;
  readonly rows: number | undefined;
}): Promise<void> {
  await withBenchServer(async (server) => {
    await server.withDatabase(async ({ url, settle }) => {
      await seed(url, rows);
      await settle();
      const many = await measureAudience(url, { tags: { none: ['t5'] } });
      const next: number[] = [];
      for (let person = 1; person <= people; person += 1) {
        const { written } = await measureAudience(url, { user: `user-${person}` });
        next.push(written.seconds * 1000);
      }
      printTable(`An audience by tag of ${rows.toLocaleString('en')} subscriptions in PostgreSQL`, [
        ['', 'members', 'seconds', 'others waited at most', 'next to one person'],
        [
          'all but one in fifty',
          many.written.members.toLocaleString('en'),
          many.written.seconds.toFixed(1),
          `${many.waits.longestMs.toFixed(0)} ms of ${many.waits.writes} writes`,
          `${Math.min(...next).toFixed(0)} to ${Math.max(...next).toFixed(0)} ms`,
        ],
        ['goal', '', `≤ ${goals.seconds}`, `≤ ${goals.waitMs} ms`, `≤ ${goals.nextMs} ms`],
      ]);
    });
  });
}

/** What a key is does not matter here. */
async function seed(url: string, rows: number): Promise<void> {
  const store = await openPostgresStore({ url });
  await store.close();
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`insert into deskbell.vapid_keys (public_key) values ('B${'A'.repeat(86)}')`);
  for (let first = 1; first <= rows; first += rowsAtOnce) {
    await client.query(
      `insert into deskbell.subscriptions
         (endpoint_hash, created_at_ms, updated_at_ms, vapid_key_id, user_name, tags, endpoint, p256dh, auth)
       select md5(n::text)::uuid, 0, 0, (select min(id) from deskbell.vapid_keys), 'user-' || n,
              array['t' || n % $3], 'https://fcm.googleapis.com/fcm/send/' || n || repeat('e', 140),
              decode('04' || repeat(md5(n::text), 4), 'hex'), decode(md5(n::text), 'hex')
       from generate_series($1::bigint, $2::bigint) n`,
      [first, Math.min(rows, first + rowsAtOnce - 1), tags],
    );
  }
  await client.end();
}
