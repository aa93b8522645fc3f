// Operators, and the audit of what they have changed, in PostgreSQL.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { AuditRecord, AuditStore } from '../audit.ts';
import { maxSessions, type Operator, type OperatorRole, type OperatorStore } from '../operators.ts';
import type { PostgresDatabase } from './postgres-database.ts';

interface OperatorRow {
  readonly id: number;
  readonly name: string;
  readonly role: OperatorRole;
  readonly created_at_ms: number;
}

interface AuditRow {
  readonly id: number;
  readonly at_ms: number;
  readonly operator: string;
  readonly action: string;
  readonly target: string | null;
  readonly status: number | null;
}

const columns = 'id, name, role, created_at_ms';

/** @param functions the schema of the database's functions */
export function createPostgresOperators(database: PostgresDatabase, functions: string): OperatorStore {
  const find = async (condition: string, value: number | Uint8Array): Promise<Operator | undefined> => {
    const row = await database.first<OperatorRow>(
      `select ${columns} from deskbell.operators where ${condition}`,
      [value],
    );
    return row && toOperator(row);
  };

  return {
    add: async ({ name, role, tokenHash }) => {
      // the same token again is the same call, whose answer was lost
      const row = await database.first<OperatorRow>(
        `insert into deskbell.operators as o (name, role, token_hash, created_at_ms)
         values ($1, $2, $3, ${functions}.clock($4))
         on conflict (name) do update set role = o.role where o.token_hash = excluded.token_hash
         returning ${columns}`,
        [name, role, Buffer.from(tokenHash), database.now()],
      );
      if (row !== undefined) return toOperator(row);
      throw new DeskbellError('ERR_OPERATOR_EXISTS', `There is an operator ${name} already.`);
    },
    findById: (id) => find('id = $1', id),
    findByToken: (tokenHash) => find('token_hash = $1', Buffer.from(tokenHash)),
    list: async () =>
      (
        await database.query<OperatorRow>(
          `select ${columns} from deskbell.operators order by name collate "C"`,
        )
      ).map(toOperator),
    remove: async (name) =>
      (await database.run('delete from deskbell.operators where name = $1', [name])) > 0,
    startSession: async ({ nameHash, operatorId, lifetimeMs }) => {
      await database.run(
        `insert into deskbell.console_sessions (name_hash, operator_id, ends_at_ms)
         values ($1, $2, ${functions}.clock($3) + $4) on conflict do nothing`,
        [Buffer.from(nameHash), operatorId, database.now(), lifetimeMs],
      );
      await database.run(
        `delete from deskbell.console_sessions where ends_at_ms <= ${functions}.clock($1) or name_hash in
           (select name_hash from deskbell.console_sessions order by ends_at_ms desc offset ${maxSessions})`,
        [database.now()],
      );
    },
    findBySession: async (nameHash) => {
      const row = await database.first<OperatorRow>(
        `select ${columns} from deskbell.operators where id = (
           select operator_id from deskbell.console_sessions
           where name_hash = $1 and ends_at_ms > ${functions}.clock($2))`,
        [Buffer.from(nameHash), database.now()],
      );
      return row && toOperator(row);
    },
    endSession: async (nameHash) => {
      await database.run('delete from deskbell.console_sessions where name_hash = $1', [
        Buffer.from(nameHash),
      ]);
    },
  };
}

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
      return rows.map(toRecord);
    },
  };
}

const toOperator = ({ id, name, role, created_at_ms }: OperatorRow): Operator => ({
  id,
  name,
  role,
  createdAtMs: created_at_ms,
});

const toRecord = ({ id, at_ms, operator, action, target, status }: AuditRow): AuditRecord => ({
  id,
  atMs: at_ms,
  operator,
  action,
  target: target ?? undefined,
  status: status ?? undefined,
});
