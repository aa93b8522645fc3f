// Operators, who may use the operator's listener, and their sessions in the console. Each has a token, of which only
// the hash is stored.
import { DeskbellError } from '../errors/deskbell-error.ts';
import {
  changesAny,
  nullsToUndefined,
  type PortableDatabase,
  type PortableValues,
  run,
} from './portable-sql.ts';

// The audit has one record for each request with which an operator changes something. Deskbell stores the record before
// the change, and adds the response's status afterwards. So every change has a record.
export interface AuditRecord {
  /** Increases over time. */
  readonly id: number;
  readonly atMs: number;
  /** Name of the operator. The record keeps it even if the operator is removed. */
  readonly operator: string;
  /** For example `broadcast.pause`. */
  readonly action: string;
  /** What was changed, such as `broadcast 7`. A person is identified by a keyed hash. */
  readonly target?: string | undefined;
  /** HTTP status of the response. Absent if the process ended before responding, or if storing the status failed. */
  readonly status?: number | undefined;
}

/** Selects audit records that match all given members. */
export interface AuditFilter {
  /** The full name. */
  readonly operator?: string | undefined;
  readonly action?: string | undefined;
  /** Written as in `AuditRecord`. */
  readonly target?: string | undefined;
  /** Milliseconds since 1970: `sinceMs ≤ at < untilMs`. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

export type AuditedChange = Pick<AuditRecord, 'operator' | 'action' | 'target'>;

export interface AuditOutcome {
  readonly status: number;
  readonly target?: string | undefined;
}

export interface AuditPage extends AuditFilter {
  /** The last record of the previous page. */
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

export type AuditStore = ReturnType<typeof createAudit>;

/**
 * Each condition selects a range of an index. Retention drops the oldest records first. So if the record `beforeId` is
 * gone, all older ones are gone too.
 */
const conditions = {
  operator: 'operator = :operator',
  action: 'action = :action',
  target: 'target = :target',
  sinceMs: 'at_ms >= :sinceMs',
  untilMs: 'at_ms < :untilMs',
  beforeId: '(at_ms, id) < ((select at_ms from deskbell.audit where id = :beforeId), :beforeId)',
} as const;

export function createAudit(database: PortableDatabase) {
  return {
    /** @returns the id of the record, once it is durable */
    begin: async ({ operator, action, target }: AuditedChange): Promise<number> => {
      const [row] = await database.writeOnce<{ readonly id: number }>(
        `insert into deskbell.audit (at_ms, operator, action, target) values (:nowMs, :operator, :action, :target)
         returning id`,
        { nowMs: database.now(), operator, action, target },
      );
      return row!.id;
    },
    /**
     * Never rejects, because a change that was made must not be reported as failed. If the store is unavailable, the
     * record stays without a status.
     *
     * @param outcome `target` replaces the one given to `begin`, if it is only known after the change
     */
    finish: (id: number, { status, target }: AuditOutcome): Promise<void> =>
      database
        .write(
          'update deskbell.audit set status = :status, target = coalesce(:target, target) where id = :id',
          { id, status, target },
        )
        .catch(() => {}),
    /** Lists records, newest first. */
    list: async ({ limit, ...filter }: AuditPage): Promise<readonly AuditRecord[]> => {
      const given = Object.entries(filter).filter(
        (entry): entry is [keyof typeof conditions, string | number] => entry[1] !== undefined,
      );
      const where = ['true', ...given.map(([name]) => conditions[name])].join(' and ');
      const rows = await database.read<AuditRecord>(
        `select id, at_ms as "atMs", operator, action, target, status from deskbell.audit
         where ${where} order by at_ms desc, id desc limit :limit`,
        { ...Object.fromEntries(given), limit },
      );
      return rows.map(nullsToUndefined);
    },
  };
}

/** `full`: everything. `read`: changes nothing. `send`: sends, sees its own broadcasts. `metrics`: only `/metrics`. */
export const operatorRoles = ['full', 'read', 'send', 'metrics'] as const;
export type OperatorRole = (typeof operatorRoles)[number];

export interface Operator {
  /** Never reused. */
  readonly id: number;
  readonly name: string;
  readonly role: OperatorRole;
  readonly createdAtMs: number;
}

export interface NewOperator extends Pick<Operator, 'name' | 'role'> {
  readonly tokenHash: Uint8Array;
}

export interface NewSession {
  /** 32 bytes, the hash of the cookie's value. */
  readonly nameHash: Uint8Array;
  readonly operatorId: number;
  readonly lifetimeMs: number;
}

export type OperatorStore = ReturnType<typeof createOperators>;

/** More sessions than all operators of an installation need. */
export const maxSessions = 1000;

const columns = 'id, name, role, created_at_ms as "createdAtMs"';

export function createOperators(database: PortableDatabase) {
  const find = async (condition: string, values: PortableValues): Promise<Operator | undefined> => {
    const [row] = await database.read<Operator>(
      `select ${columns} from deskbell.operators where ${condition}`,
      values,
    );
    return row;
  };

  const ownsBroadcast = async (broadcastId: number, operatorId: number): Promise<boolean> => {
    const rows = await database.read(
      `select broadcast_id from deskbell.operator_broadcasts
       where broadcast_id = :broadcastId and operator_id = :operatorId`,
      { broadcastId, operatorId },
    );
    return rows.length > 0;
  };

  return {
    /** @throws {DeskbellError} ERR_OPERATOR_EXISTS if the name is taken */
    add: async ({ name, role, tokenHash }: NewOperator): Promise<Operator> => {
      // if the token is stored already, the call was repeated because its response was lost
      const [row] = await database.writeOnce<Operator>(
        `insert into deskbell.operators as o (name, role, token_hash, created_at_ms)
         values (:name, :role, :tokenHash, :nowMs)
         on conflict (name) do update set role = o.role where o.token_hash = excluded.token_hash
         returning ${columns}`,
        { name, role, tokenHash, nowMs: database.now() },
      );
      if (row !== undefined) return row;
      throw new DeskbellError('ERR_OPERATOR_EXISTS', `There is an operator ${name} already.`);
    },
    findById: (id: number) => find('id = :id', { id }),
    findByToken: (tokenHash: Uint8Array) => find('token_hash = :tokenHash', { tokenHash }),
    /** Ordered by name. */
    list: async (): Promise<readonly Operator[]> => {
      const rows = await database.read<Operator>(`select ${columns} from deskbell.operators`);
      return rows.toSorted((one, other) => (one.name < other.name ? -1 : 1));
    },
    /** @returns false if no operator has this name */
    remove: (name: string) =>
      changesAny(database, 'delete from deskbell.operators where name = :name', { name }),
    /**
     * Records a broadcast as an operator's own, unless it belongs to another operator.
     *
     * @returns true if it is this operator's
     */
    claimBroadcast: async (broadcastId: number, operatorId: number): Promise<boolean> => {
      await database.write(
        `insert into deskbell.operator_broadcasts (broadcast_id, operator_id)
         values (:broadcastId, :operatorId) on conflict (broadcast_id) do nothing`,
        { broadcastId, operatorId },
      );
      return ownsBroadcast(broadcastId, operatorId);
    },
    ownsBroadcast,
    /** Starts a session. Forgets expired sessions, and the oldest if there are too many. */
    startSession: ({ nameHash, operatorId, lifetimeMs }: NewSession) =>
      database.transaction(function* () {
        const nowMs = database.now();
        yield* run(
          `insert into deskbell.console_sessions (name_hash, operator_id, ends_at_ms)
           values (:nameHash, :operatorId, :endsAtMs) on conflict do nothing`,
          { nameHash, operatorId, endsAtMs: nowMs + lifetimeMs },
        );
        yield* run(
          `delete from deskbell.console_sessions where ends_at_ms <= :nowMs or name_hash in
             (select name_hash from deskbell.console_sessions
              order by ends_at_ms desc limit ${Number.MAX_SAFE_INTEGER} offset ${maxSessions})`,
          { nowMs },
        );
      }),
    /** Returns the operator of a session that has not expired. */
    findBySession: (nameHash: Uint8Array) =>
      find(
        `id = (select operator_id from deskbell.console_sessions
               where name_hash = :nameHash and ends_at_ms > :nowMs)`,
        { nameHash, nowMs: database.now() },
      ),
    endSession: (nameHash: Uint8Array) =>
      database.write('delete from deskbell.console_sessions where name_hash = :nameHash', { nameHash }),
  };
}
