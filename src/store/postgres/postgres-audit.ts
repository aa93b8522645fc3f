// The operators' audit in PostgreSQL.
import type { AuditStore } from '../audit.ts';
import { toAuditRecord, type AuditRow } from '../rows/audit-row.ts';
import type { PostgresDatabase } from './postgres-database.ts';

/** @param functions the schema of the database's functions */
export function createPostgresAudit(database: PostgresDatabase, functions: string): AuditStore {
  return {
    begin: async ({ operator, action, target = null }) => {
      const row = await database.first<{ readonly id: number }>(
        `insert into deskbell.audit (at_ms, operator, action, target)
         values (${functions}.clock($1), $2, $3, $4) returning id`,
        [database.now(), operator, action, target],
      );
      if (row === undefined) throw new Error('The audit record was not stored.');
      return row.id;
    },
    finish: async (id, { status, target = null }) => {
      await database.run(
        'update deskbell.audit set status = $2, target = coalesce($3, target) where id = $1',
        [id, status, target],
      );
    },
    list: async ({ beforeId = Number.MAX_SAFE_INTEGER, limit }) => {
      const rows = await database.query<AuditRow>(
        'select * from deskbell.audit where id < $1 order by id desc limit $2',
        [beforeId, limit],
      );
      return rows.map(toAuditRecord);
    },
  };
}
