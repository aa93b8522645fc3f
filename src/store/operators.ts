// Operators: who may use the operator's listener, each by a token of which only the hash is stored, and their sessions in the
// console.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { type PortableDatabase, type PortableValues, run } from './portable-sql.ts';

// What operators have changed: one record for each request that changes something. It is written before the change, so that
// no change is without one, and completed with the status of the answer.
export interface AuditRecord {
  /** Ascending. */
  readonly id: number;
  readonly atMs: number;
  /** Name of the operator. It stays when the operator is removed. */
  readonly operator: string;
  /** What was done, such as `broadcast.pause`. */
  readonly action: string;
  /** What was changed, such as `broadcast 7`. A person is named by a keyed hash. */
  readonly target?: string | undefined;
  /** HTTP status of the answer; absent if the process ended before there was one. */
  readonly status?: number | undefined;
}

/** Selects audit records; they match all members that are given. */
export interface AuditFilter {
  /** The whole name. */
  readonly operator?: string | undefined;
  readonly action?: string | undefined;
  /** As a record has it. */
  readonly target?: string | undefined;
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
  /** @param target replaces what `begin` was given, if the change itself has made it */
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

/** Each is the range of an index. Retention drops the oldest first: if the record `beforeId` is gone, the older ones are, too. */
const conditions = {
  operator: 'operator = :operator',
  action: 'action = :action',
  target: 'target = :target',
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
      const rows = await database.read<AuditRecord>(
        `select id, at_ms as "atMs", operator, action, target, status from deskbell.audit
         where ${where} order by at_ms desc, id desc limit :limit`,
        { ...Object.fromEntries(given), limit },
      );
      return rows.map((row) => ({
        ...row,
        target: row.target ?? undefined,
        status: row.status ?? undefined,
      }));
    },
  };
}

/**
 * `full`: everything. `read`: what changes nothing. `send`: sending, and seeing one's own broadcasts. `metrics`: `/metrics`
 * alone.
 */
export const operatorRoles = ['full', 'read', 'send', 'metrics'] as const;
export type OperatorRole = (typeof operatorRoles)[number];

export interface Operator {
  /** Never used again. */
  readonly id: number;
  readonly name: string;
  readonly role: OperatorRole;
  readonly createdAtMs: number;
}

export interface OperatorStore {
  /** @throws {DeskbellError} ERR_OPERATOR_EXISTS if the name is taken */
  add(operator: {
    readonly name: string;
    readonly role: OperatorRole;
    readonly tokenHash: Uint8Array;
  }): Promise<Operator>;
  findById(id: number): Promise<Operator | undefined>;
  findByToken(tokenHash: Uint8Array): Promise<Operator | undefined>;
  /** In the order of names. */
  list(): Promise<readonly Operator[]>;
  /** @returns false if there is none of this name */
  remove(name: string): Promise<boolean>;
  /**
   * Notes a broadcast as an operator's own, unless it is another's.
   *
   * @returns whether it is this operator's
   */
  claimBroadcast(broadcastId: number, operatorId: number): Promise<boolean>;
  ownsBroadcast(broadcastId: number, operatorId: number): Promise<boolean>;
  /** Forgets sessions that are over, and the oldest of too many. @param session `nameHash`: 32 bytes of what its cookie has */
  startSession(session: {
    readonly nameHash: Uint8Array;
    readonly operatorId: number;
    readonly lifetimeMs: number;
  }): Promise<void>;
  /** The operator that the session belongs to, until the session is over. */
  findBySession(nameHash: Uint8Array): Promise<Operator | undefined>;
  endSession(nameHash: Uint8Array): Promise<void>;
}

/** More than people who look after one installation. */
export const maxSessions = 1000;

const columns = 'id, name, role, created_at_ms as "createdAtMs"';

export function createOperators(database: PortableDatabase): OperatorStore {
  const find = async (condition: string, values: PortableValues): Promise<Operator | undefined> => {
    const [row] = await database.read<Operator>(
      `select ${columns} from deskbell.operators where ${condition}`,
      values,
    );
    return row && { ...row };
  };

  const ownsBroadcast: OperatorStore['ownsBroadcast'] = async (broadcastId, operatorId) => {
    const rows = await database.read(
      `select broadcast_id from deskbell.operator_broadcasts
       where broadcast_id = :broadcastId and operator_id = :operatorId`,
      { broadcastId, operatorId },
    );
    return rows.length > 0;
  };

  return {
    add: async ({ name, role, tokenHash }) => {
      // the same token again is the same call, whose answer was lost
      const [row] = await database.writeOnce<Operator>(
        `insert into deskbell.operators as o (name, role, token_hash, created_at_ms)
         values (:name, :role, :tokenHash, :nowMs)
         on conflict (name) do update set role = o.role where o.token_hash = excluded.token_hash
         returning ${columns}`,
        { name, role, tokenHash, nowMs: database.now() },
      );
      if (row !== undefined) return { ...row };
      throw new DeskbellError('ERR_OPERATOR_EXISTS', `There is an operator ${name} already.`);
    },
    findById: (id) => find('id = :id', { id }),
    findByToken: (tokenHash) => find('token_hash = :tokenHash', { tokenHash }),
    list: async () => {
      const rows = await database.read<Operator>(`select ${columns} from deskbell.operators`);
      return rows.map((row) => ({ ...row })).sort((one, other) => (one.name < other.name ? -1 : 1));
    },
    remove: async (name) => {
      const removed = await database.writeOnce(
        'delete from deskbell.operators where name = :name returning id',
        { name },
      );
      return removed.length > 0;
    },
    claimBroadcast: async (broadcastId, operatorId) => {
      await database.write(
        `insert into deskbell.operator_broadcasts (broadcast_id, operator_id)
         values (:broadcastId, :operatorId) on conflict (broadcast_id) do nothing`,
        { broadcastId, operatorId },
      );
      return ownsBroadcast(broadcastId, operatorId);
    },
    ownsBroadcast,
    startSession: ({ nameHash, operatorId, lifetimeMs }) =>
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
    findBySession: (nameHash) =>
      find(
        `id = (select operator_id from deskbell.console_sessions
               where name_hash = :nameHash and ends_at_ms > :nowMs)`,
        { nameHash, nowMs: database.now() },
      ),
    endSession: async (nameHash) => {
      await database.write('delete from deskbell.console_sessions where name_hash = :nameHash', { nameHash });
    },
  };
}
