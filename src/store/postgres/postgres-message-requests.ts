// Requests for single messages in PostgreSQL. A claim tells a call that is repeated, because its answer was lost, from another one.
import { randomUUID } from 'node:crypto';
import {
  forgottenAtOnce,
  keyLifetimeMs,
  repeatRequest,
  type MessageRequests,
  type StoredRequest,
} from '../message-requests.ts';
import type { PostgresDatabase } from './postgres-database.ts';

/** @param functions the schema of the database's functions */
export function createPostgresMessageRequests(
  database: PostgresDatabase,
  functions: string,
): MessageRequests {
  return {
    begin: async (key, contentHash) => {
      await database.run(
        `delete from deskbell.message_requests where at_ms < ${functions}.clock($2) - ${keyLifetimeMs} and (key = $1 or key in (
           select key from deskbell.message_requests where at_ms < ${functions}.clock($2) - ${keyLifetimeMs}
           order by at_ms limit ${forgottenAtOnce}))`,
        [key, database.now()],
      );
      const claim = randomUUID();
      // a conflict writes the row, so that it is there to be returned whoever has just added it
      const row = await database.first<StoredRequest & { readonly claim: string }>(
        `insert into deskbell.message_requests as r (key, content_hash, claim, at_ms)
         values ($1, $2, $3, ${functions}.clock($4))
         on conflict (key) do update set claim = r.claim
         returning content_hash, claim, answer`,
        [key, Buffer.from(contentHash), claim, database.now()],
      );
      if (row === undefined) throw new Error('The request was not stored.');
      return row.claim === claim ? undefined : repeatRequest(row, contentHash);
    },
    finish: async (key, answer) => {
      await database.run('update deskbell.message_requests set answer = $2 where key = $1', [key, answer]);
    },
    release: async (key) => {
      await database.run('delete from deskbell.message_requests where key = $1', [key]);
    },
  };
}
