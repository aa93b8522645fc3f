// Counts requests of clients in PostgreSQL. One statement counts all requests from one turn of the event loop. While it
// runs, requests of later turns are gathered for the next one.
import { hash } from 'node:crypto';
import type { ClientRequests, ClientWindow } from '../client-requests.ts';
import type { AgingTable } from '../retention.ts';
import { type PostgresDatabase, retryBrieflyForMs } from './database.ts';
import { WriteQueue } from './write-queue.ts';

interface Request {
  /** A hash, written as a UUID without hyphens. */
  readonly client: string;
  readonly windowMs: number;
}

interface WindowRow {
  readonly client: string;
  readonly requests: number;
  readonly ends_in_ms: number;
}

const forgetEveryMs = 60_000;

/** Rows that services leave behind when they stop. */
export const clientWindows: AgingTable = {
  name: 'client_requests',
  key: 'place',
  time: 'ends_at_ms',
  keptMs: 0,
};

export function createPostgresClientRequests(database: PostgresDatabase): ClientRequests {
  let countedMs = 0;
  let forgetting: NodeJS.Timeout | undefined;

  const count = async (requests: readonly Request[]): Promise<readonly (ClientWindow | undefined)[]> => {
    countedMs = performance.now();
    forgetLater();
    const byClient = Map.groupBy(requests, ({ client }) => client);
    const all = [...byClient.values()];
    const rows = await database.call<WindowRow>(
      'count_requests',
      [
        database.now(),
        [...byClient.keys()],
        all.map(([first]) => first!.windowMs),
        all.map(({ length }) => length),
      ],
      database.queryBriefly,
    );
    const windows = new Map(
      rows.map(({ client: id, requests: counted, ends_in_ms: endsInMs }) => {
        const client = id.replaceAll('-', '');
        const before = counted - byClient.get(client)!.length;
        return [client, { requests: before, endsInMs }];
      }),
    );
    return requests.map(({ client }) => {
      const window = windows.get(client);
      if (window === undefined) return undefined;
      window.requests += 1;
      return { ...window };
    });
  };

  /** Schedules the deletion of ended windows, so that clients' data is not kept too long if no more requests come. */
  const forgetLater = (): void => {
    forgetting ??= setTimeout(() => void forgetEnded(), forgetEveryMs).unref();
  };

  const forgetEnded = async (): Promise<void> => {
    await database
      .queryBriefly(
        `delete from deskbell.client_requests where ends_at_ms < ${database.functions}.clock($1)`,
        [database.now()],
      )
      .catch(() => {});
    forgetting = undefined;
    // some windows may still be open
    if (performance.now() - countedMs < 2 * forgetEveryMs) forgetLater();
  };

  const queue = new WriteQueue(count, retryBrieflyForMs);

  return {
    count: (client, windowMs) =>
      queue.add([], { client: hash('sha256', client, 'hex').slice(0, 32), windowMs }),
  };
}
