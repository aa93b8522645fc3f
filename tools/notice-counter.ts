// Counts the notices of work that a database sends, as a client of its own hears them.
import { Client } from 'pg';
import { workChannel } from '../src/store/postgres/migrations.ts';
import { until } from './until.ts';

export interface NoticeCounter {
  /** How many were sent about a broadcast by now. */
  count(broadcastId: number): Promise<number>;
  /** The most within a second about any one broadcast. */
  readonly mostInSecond: number;
  close(): Promise<void>;
}

export async function countNotices(url: string): Promise<NoticeCounter> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const times = new Map<string, number[]>();
  let proofs = 0;
  client.on('notification', ({ payload = '' }) => {
    times.set(payload, [...(times.get(payload) ?? []), performance.now()]);
  });
  await client.query(`listen ${workChannel}`);
  return {
    count: async (broadcastId) => {
      // notices come in the order of their commits
      const proof = `proof ${(proofs += 1)}`;
      await client.query('select pg_notify($1, $2)', [workChannel, proof]);
      await until(() => times.has(proof), 'a notice of our own');
      return times.get(String(broadcastId))?.length ?? 0;
    },
    get mostInSecond() {
      return Math.max(0, ...[...times.values()].map(mostOf));
    },
    close: () => client.end(),
  };
}

const mostOf = (times: readonly number[]): number =>
  Math.max(...times.map((startMs) => times.filter((ms) => ms >= startMs && ms < startMs + 1000).length));
