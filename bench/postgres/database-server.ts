// A PostgreSQL server of its own for a run, as durable as it is by itself, with a new database for each measurement.
import { PostgresServer, type TestDatabase } from '../../tools/postgres-server.ts';
import type { DatabaseServer } from '../broadcast/measure-broadcast.ts';
import { cpuSecondsOfFamily } from '../measure/process-usage.ts';

export interface BenchServer {
  /** Runs `work` with a database that has no rows, which is removed then. */
  withDatabase<Result>(work: (database: DatabaseServer) => Promise<Result>): Promise<Result>;
  /** The same with a database that has no tables either, so that any version can make its own. */
  withBareDatabase<Result>(work: (database: DatabaseServer) => Promise<Result>): Promise<Result>;
  /** Runs `work` while each commit waits so long before it writes to the disk, together with others that come meanwhile. */
  delayingCommits(delayMs: number, work: () => Promise<void>): Promise<void>;
}

/** Runs `work` with a server, which is stopped then. */
export async function withBenchServer(work: (server: BenchServer) => Promise<void>): Promise<void> {
  const server = await PostgresServer.start({ isDurable: true });
  try {
    await work(toBenchServer(server));
  } finally {
    await server.stop();
  }
}

function toBenchServer(server: PostgresServer): BenchServer {
  const setDelay = async (delayMs: number): Promise<void> => {
    await server.administer(`alter system set commit_delay = ${delayMs * 1000}`);
    await server.administer('alter system set commit_siblings = 0');
    await server.administer('select pg_reload_conf()');
  };
  const withDatabase = async <Result>(
    database: TestDatabase,
    work: (database: DatabaseServer) => Promise<Result>,
  ): Promise<Result> => {
    try {
      return await work({
        url: database.url,
        // autovacuum and a checkpoint would otherwise come at any time
        settle: async () => {
          await database.run('vacuum (analyze)');
          await server.administer('checkpoint');
        },
        cpuSeconds: async () => (await cpuSecondsOfFamily(server.pid)) ?? Number.NaN,
      });
    } finally {
      await database.remove();
    }
  };
  return {
    delayingCommits: async (delayMs, work) => {
      await setDelay(delayMs);
      await work().finally(() => setDelay(0));
    },
    withDatabase: async (work) => withDatabase(await server.createDatabase(), work),
    withBareDatabase: async (work) => withDatabase(await server.createDatabase('template1'), work),
  };
}
