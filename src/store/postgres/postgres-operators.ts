// Operators in PostgreSQL.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { maxSessions, type Operator, type OperatorStore } from '../operators.ts';
import { operatorColumns, toOperator, type OperatorRow } from '../rows/operator-row.ts';
import type { PostgresDatabase } from './postgres-database.ts';

/** @param functions the schema of the database's functions */
export function createPostgresOperators(database: PostgresDatabase, functions: string): OperatorStore {
  const find = async (condition: string, value: number | Uint8Array): Promise<Operator | undefined> => {
    const row = await database.first<OperatorRow>(
      `select ${operatorColumns} from deskbell.operators where ${condition}`,
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
         returning ${operatorColumns}`,
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
          `select ${operatorColumns} from deskbell.operators order by name collate "C"`,
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
        `select ${operatorColumns} from deskbell.operators where id = (
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
