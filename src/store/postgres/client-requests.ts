// Counts requests of clients in PostgreSQL. One statement counts all requests from one turn of the event loop. While it
// runs, requests of later turns are gathered for the next one.
import { hash } from 'node:crypto';
import type { ClientRequests, ClientWindow } from '../client-requests.ts';
import type { AgingTable } from '../retention.ts';
import type { PostgresDatabase } from './database.ts';

/** The requests of one client in one turn of the event loop. */
interface Gathered {
  readonly windowMs: number;
  readonly waiting: PromiseWithResolvers<ClientWindow | undefined>[];
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
  let gathered = new Map<string, Gathered>();
  let countedMs = 0;
  let forgetting: NodeJS.Timeout | undefined;
  let isWriting = false;

  const write = async (clients: ReadonlyMap<string, Gathered>): Promise<void> => {
    const all = [...clients.values()];
    try {
      const rows = await database.call<WindowRow>(
        'count_requests',
        [
          database.now(),
          [...clients.keys()],
          all.map(({ windowMs }) => windowMs),
          all.map(({ waiting }) => waiting.length),
        ],
        database.queryBriefly,
      );
      const counted = new Map(rows.map((row) => [row.client.replaceAll('-', ''), row]));
      for (const [client, { waiting }] of clients) answer(waiting, counted.get(client));
    } catch (error) {
      for (const { waiting } of all) for (const { reject } of waiting) reject(error);
    }
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

  const writeAll = async (): Promise<void> => {
    while (gathered.size > 0) {
      const clients = gathered;
      gathered = new Map();
      await write(clients);
    }
    isWriting = false;
    countedMs = performance.now();
    forgetLater();
  };

  return {
    count: (client, windowMs) => {
      if (!isWriting) setImmediate(() => void writeAll());
      isWriting = true;
      const key = hash('sha256', client, 'hex').slice(0, 32);
      const entry = gathered.get(key) ?? { windowMs, waiting: [] };
      const request = Promise.withResolvers<ClientWindow | undefined>();
      entry.waiting.push(request);
      gathered.set(key, entry);
      return request.promise;
    },
  };
}

/** @param row the counter, whose count includes all waiting requests */
function answer(waiting: Gathered['waiting'], row: WindowRow | undefined): void {
  const before = (row?.requests ?? 0) - waiting.length;
  for (const [index, { resolve }] of waiting.entries())
    resolve(row && { requests: before + index + 1, endsInMs: row.ends_in_ms });
}
