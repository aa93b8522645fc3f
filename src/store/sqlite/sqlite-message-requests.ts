// Requests for single messages in SQLite.
import {
  forgottenAtOnce,
  keyLifetimeMs,
  repeatRequest,
  type MessageRequests,
  type StoredRequest,
} from '../message-requests.ts';
import type { SqliteDatabase } from './sqlite-database.ts';

export function createSqliteMessageRequests(database: SqliteDatabase): MessageRequests {
  const forget = database.prepare<{ key: string; beforeMs: number }>(`
    delete from message_requests where at_ms < :beforeMs and (key = :key or key in
      (select key from message_requests where at_ms < :beforeMs order by at_ms limit ${forgottenAtOnce}))
  `);
  const find = database.prepare<{ key: string }, StoredRequest>(
    'select content_hash, answer from message_requests where key = :key',
  );
  const insert = database.prepare<{ key: string; contentHash: Uint8Array; nowMs: number }>(
    'insert into message_requests (key, content_hash, at_ms) values (:key, :contentHash, :nowMs)',
  );
  const finish = database.prepare<{ key: string; answer: string }>(
    'update message_requests set answer = :answer where key = :key',
  );
  const release = database.prepare<{ key: string }>('delete from message_requests where key = :key');

  return {
    begin: (key, contentHash) =>
      database.write(() => {
        const nowMs = database.now();
        forget.run({ key, beforeMs: nowMs - keyLifetimeMs });
        const stored = find.first({ key });
        if (stored !== undefined) return repeatRequest(stored, contentHash);
        insert.run({ key, contentHash, nowMs });
        return undefined;
      }),
    finish: (key, answer) => database.write(() => void finish.run({ key, answer })),
    release: (key) => database.write(() => void release.run({ key })),
  };
}
