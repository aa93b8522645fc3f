// What operators have changed: one record for each request that changes something. It is written before the change, so that
// no change is without one, and completed with the status of the answer.
import type { PortableDatabase } from './portable-sql.ts';

export interface AuditRecord {
  /** Ascending. */
  readonly id: number;
  readonly atMs: number;
  /** Name of the operator. It stays when the operator is removed. */
  readonly operator: string;
  /** What was done, such as `broadcast.pause`. */
  readonly action: string;
  /** To what, such as `broadcast 7`. A person is named by a keyed hash. */
  readonly target?: string | undefined;
  /** HTTP status of the answer; absent where the process ended before there was one. */
  readonly status?: number | undefined;
}

export interface AuditStore {
  /** @returns the record's id, once it is durable */
  begin(record: {
    readonly operator: string;
    readonly action: string;
    readonly target?: string | undefined;
  }): Promise<number>;
  /** @param target replaces what `begin` was given, where the change itself has made it */
  finish(
    id: number,
    outcome: { readonly status: number; readonly target?: string | undefined },
  ): Promise<void>;
  /** Newest first. */
  list(range: {
    readonly beforeId?: number | undefined;
    readonly limit: number;
  }): Promise<readonly AuditRecord[]>;
}

interface AuditRow {
  readonly id: number;
  readonly at_ms: number;
  readonly operator: string;
  readonly action: string;
  readonly target: string | null;
  readonly status: number | null;
}

export function createAudit(database: PortableDatabase): AuditStore {
  return {
    begin: async ({ operator, action, target = null }) => {
      const [row] = await database.write<{ readonly id: number }>(
        `insert into deskbell.audit (at_ms, operator, action, target) values (:nowMs, :operator, :action, :target)
         returning id`,
        { nowMs: database.now(), operator, action, target },
      );
      if (row === undefined) throw new Error('The audit record was not stored.');
      return row.id;
    },
    finish: async (id, { status, target = null }) => {
      await database.write(
        'update deskbell.audit set status = :status, target = coalesce(:target, target) where id = :id',
        { id, status, target },
      );
    },
    list: async ({ beforeId = Number.MAX_SAFE_INTEGER, limit }) => {
      const rows = await database.read<AuditRow>(
        'select * from deskbell.audit where id < :beforeId order by id desc limit :limit',
        { beforeId, limit },
      );
      return rows.map(toRecord);
    },
  };
}

const toRecord = ({ id, at_ms, operator, action, target, status }: AuditRow): AuditRecord => ({
  id,
  atMs: at_ms,
  operator,
  action,
  target: target ?? undefined,
  status: status ?? undefined,
});
