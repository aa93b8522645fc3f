// The users of the example API, in a SQLite file of their own: they have nothing to do with subscriptions. Ids are int64
// and stay `bigint` throughout.
import { closeSync, constants, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { checkOptions, isText, type OptionChecks } from '../../errors/check-options.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';

/** A user of the example API. */
export interface ExampleUser {
  /** An int64. */
  readonly id: bigint;
  readonly name: string;
  readonly email: string;
}

/** The users of the example API. Made by `openExampleUsers`. */
export interface ExampleUsers {
  find(id: bigint): Promise<ExampleUser | undefined>;
  /** False where there is no such user. */
  update(user: ExampleUser): Promise<boolean>;
  close(): void;
}

/** Of `openExampleUsers`. */
export interface ExampleUsersOptions {
  /** The file; created with one user if it does not exist. Default: in memory. */
  readonly path?: string | undefined;
  /** A database of Deskbell 0.1.0, which kept the users beside the subscriptions: a new file begins with them. */
  readonly importFrom?: string | undefined;
}

const lockTimeoutMs = 1000;
/** Of new users; the description shows it too. */
export const firstUser = { id: 1n, name: 'Ada Example', email: 'ada@example.org' };

const exampleUsersChecks: OptionChecks<ExampleUsersOptions> = { path: isText, importFrom: isText };

/** @throws {DeskbellError} ERR_CONFIGURATION, ERR_STORE_UNAVAILABLE */
export function openExampleUsers(options: ExampleUsersOptions = {}): ExampleUsers {
  checkOptions(options, exampleUsersChecks);
  const { path, importFrom } = options;
  return orUnavailable(path, () => {
    if (path !== undefined) createFile(path);
    const database = new DatabaseSync(path ?? ':memory:', { timeout: lockTimeoutMs });
    createUsers(database, importFrom);
    const select = database.prepare('select id, name, email from users where id = ?');
    select.setReadBigInts(true);
    const update = database.prepare('update users set name = ?, email = ? where id = ?');
    update.setReadBigInts(true);
    return {
      find: async (id) => {
        const row = orUnavailable(path, () => select.get(id)) as ExampleUser | undefined;
        return row && { ...row };
      },
      update: async ({ id, name, email }) =>
        orUnavailable(path, () => Number(update.run(name, email, id).changes) > 0),
      close: () => database.close(),
    };
  });
}

/** Its mode is the owner's alone, as for everything in a data directory. A FIFO is an error, and not waited for. */
function createFile(path: string): void {
  const { O_WRONLY, O_CREAT, O_NONBLOCK = 0 } = constants;
  closeSync(openSync(path, O_WRONLY | O_CREAT | O_NONBLOCK, 0o600));
}

function createUsers(database: DatabaseSync, importFrom: string | undefined): void {
  if (hasUsers(database, 'main')) return;
  if (importFrom !== undefined) database.prepare('attach database ? as deskbell').run(importFrom);
  database.exec('begin immediate');
  try {
    // asked again: another process may have been faster
    if (!hasUsers(database, 'main')) {
      database.exec(
        'create table users (id integer primary key, name text not null, email text not null) strict',
      );
      if (importFrom !== undefined && hasUsers(database, 'deskbell')) {
        database.exec('insert into users select id, name, email from deskbell.users');
      } else {
        const { id, name, email } = firstUser;
        database.prepare('insert into users values (?, ?, ?)').run(id, name, email);
      }
    }
    database.exec('commit');
  } catch (error) {
    database.exec('rollback');
    throw error;
  }
  if (importFrom !== undefined) database.exec('detach database deskbell');
}

function hasUsers(database: DatabaseSync, schema: 'main' | 'deskbell'): boolean {
  return database.prepare(`select 1 from ${schema}.sqlite_schema where name = 'users'`).get() !== undefined;
}

function orUnavailable<Result>(path: string | undefined, work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    throw new DeskbellError(
      'ERR_STORE_UNAVAILABLE',
      `The example users (${path ?? 'in memory'}) cannot be read or written: check that the file is a database, and its permissions.`,
      { cause },
    );
  }
}
