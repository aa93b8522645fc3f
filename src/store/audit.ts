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
  /** HTTP status of the answer; absent if the process ended before there was one. */
  readonly status?: number | undefined;
}

/** Which records a list gives; all of what is given holds. */
export interface AuditFilter {
  /** The whole name. */
  readonly operator?: string | undefined;
  readonly action?: string | undefined;
  /** Milliseconds since 1970: `sinceMs ≤ at < untilMs`. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
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
  /**
   * Newest first.
   *
   * @param range `beforeId`: the last record of the page before
   */
  list(
    range: AuditFilter & { readonly beforeId?: number | undefined; readonly limit: number },
  ): Promise<readonly AuditRecord[]>;
}

interface AuditRow {
  readonly id: number;
  readonly at_ms: number;
  readonly operator: string;
  readonly action: string;
  readonly target: string | null;
  readonly status: number | null;
}

/** Each is the range of an index. Retention drops the oldest first: where the record `beforeId` is gone, the older ones are, too. */
const conditions = {
  operator: 'operator = :operator',
  action: 'action = :action',
  sinceMs: 'at_ms >= :sinceMs',
  untilMs: 'at_ms < :untilMs',
  beforeId: '(at_ms, id) < ((select at_ms from deskbell.audit where id = :beforeId), :beforeId)',
} as const;

export function createAudit(database: PortableDatabase): AuditStore {
  return {
    begin: async ({ operator, action, target = null }) => {
      const [row] = await database.writeOnce<{ readonly id: number }>(
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
    list: async ({ limit, ...filter }) => {
      const given = Object.entries(filter).filter(
        (entry): entry is [keyof typeof conditions, string | number] => entry[1] !== undefined,
      );
      const where = ['true', ...given.map(([name]) => conditions[name])].join(' and ');
      const rows = await database.read<AuditRow>(
        `select * from deskbell.audit where ${where} order by at_ms desc, id desc limit :limit`,
        { ...Object.fromEntries(given), limit },
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
