// Operators in SQLite.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { maxSessions, type Operator, type OperatorRole, type OperatorStore } from '../operators.ts';
import { operatorColumns, toOperator, type OperatorRow } from '../rows/operator-row.ts';
import type { SqliteDatabase } from './sqlite-database.ts';
import type { NoValues } from './statement.ts';

export function createSqliteOperators(database: SqliteDatabase): OperatorStore {
  const insert = database.prepare<
    { name: string; role: OperatorRole; tokenHash: Uint8Array; nowMs: number },
    OperatorRow
  >(`
    insert into operators (name, role, token_hash, created_at_ms) values (:name, :role, :tokenHash, :nowMs)
    on conflict (name) do nothing
    returning ${operatorColumns}
  `);
  const byId = database.prepare<{ id: number }, OperatorRow>(
    `select ${operatorColumns} from operators where id = :id`,
  );
  const byToken = database.prepare<{ tokenHash: Uint8Array }, OperatorRow>(
    `select ${operatorColumns} from operators where token_hash = :tokenHash`,
  );
  const all = database.prepare<NoValues, OperatorRow>(
    `select ${operatorColumns} from operators order by name`,
  );
  const remove = database.prepare<{ name: string }>('delete from operators where name = :name');
  const startSession = database.prepare<{ nameHash: Uint8Array; operatorId: number; endsAtMs: number }>(
    'insert into console_sessions (name_hash, operator_id, ends_at_ms) values (:nameHash, :operatorId, :endsAtMs)',
  );
  const forgetSessions = database.prepare<{ nowMs: number }>(`
    delete from console_sessions where ends_at_ms <= :nowMs or name_hash in
      (select name_hash from console_sessions order by ends_at_ms desc limit -1 offset ${maxSessions})
  `);
  const bySession = database.prepare<{ nameHash: Uint8Array; nowMs: number }, OperatorRow>(`
    select ${operatorColumns} from operators
    where id = (select operator_id from console_sessions where name_hash = :nameHash and ends_at_ms > :nowMs)
  `);
  const endSession = database.prepare<{ nameHash: Uint8Array }>(
    'delete from console_sessions where name_hash = :nameHash',
  );

  return {
    add: ({ name, role, tokenHash }) =>
      database.write(() => {
        const row = insert.first({ name, role, tokenHash, nowMs: database.now() });
        if (row !== undefined) return toOperator(row);
        throw new DeskbellError('ERR_OPERATOR_EXISTS', `There is an operator ${name} already.`);
      }),
    findById: (id) => database.read(() => optional(byId.first({ id }))),
    findByToken: (tokenHash) => database.read(() => optional(byToken.first({ tokenHash }))),
    list: () => database.read(() => all.all({}).map(toOperator)),
    remove: (name) => database.write(() => remove.run({ name }) > 0),
    startSession: ({ nameHash, operatorId, lifetimeMs }) =>
      database.write(() => {
        const nowMs = database.now();
        startSession.run({ nameHash, operatorId, endsAtMs: nowMs + lifetimeMs });
        forgetSessions.run({ nowMs });
      }),
    findBySession: (nameHash) =>
      database.read(() => optional(bySession.first({ nameHash, nowMs: database.now() }))),
    endSession: (nameHash) => database.write(() => void endSession.run({ nameHash })),
  };
}

const optional = (row: OperatorRow | undefined): Operator | undefined => row && toOperator(row);
