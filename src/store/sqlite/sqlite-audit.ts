// The operators' audit in SQLite.
import type { AuditStore } from '../audit.ts';
import { toAuditRecord, type AuditRow } from '../rows/audit-row.ts';
import type { SqliteDatabase } from './sqlite-database.ts';

export function createSqliteAudit(database: SqliteDatabase): AuditStore {
  const insert = database.prepare<
    { nowMs: number; operator: string; action: string; target: string | null },
    { id: number }
  >(`
    insert into audit (at_ms, operator, action, target) values (:nowMs, :operator, :action, :target)
    returning id
  `);
  const finish = database.prepare<{ id: number; status: number; target: string | null }>(
    'update audit set status = :status, target = coalesce(:target, target) where id = :id',
  );
  const newest = database.prepare<{ beforeId: number; limit: number }, AuditRow>(
    'select * from audit where id < :beforeId order by id desc limit :limit',
  );

  return {
    begin: ({ operator, action, target = null }) =>
      database.write(() => {
        const row = insert.first({ nowMs: database.now(), operator, action, target });
        if (row === undefined) throw new Error('The audit record was not stored.');
        return row.id;
      }),
    finish: (id, { status, target = null }) =>
      database.write(() => {
        finish.run({ id, status, target });
      }),
    list: ({ beforeId = Number.MAX_SAFE_INTEGER, limit }) =>
      database.read(() => newest.all({ beforeId, limit }).map(toAuditRecord)),
  };
}
