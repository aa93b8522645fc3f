// The users of the example API, in their own SQLite file. Ids are int64, so always `bigint`.
import { closeSync, constants, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { checkOptions, isText, type OptionChecks } from '../../errors/check-options.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';

/** A user of the example API. */
export interface ExampleUser {
  readonly id: bigint;
  readonly name: string;
  readonly email: string;
}

/** Made by `openExampleUsers`. */
export interface ExampleUsers {
  find(id: bigint): Promise<ExampleUser | undefined>;
  /** Returns false if there is no such user. */
  update(user: ExampleUser): Promise<boolean>;
  close(): void;
}

/** Options of `openExampleUsers`. */
export interface ExampleUsersOptions {
  /** The file; created with one user if it does not exist. Default: in memory. */
  readonly path?: string | undefined;
}

const lockTimeoutMs = 1000;
export const firstUser = { id: 1n, name: 'Ada Example', email: 'ada@example.org' };

const exampleUsersChecks: OptionChecks<ExampleUsersOptions> = { path: isText };

/** @throws {DeskbellError} ERR_CONFIGURATION, ERR_STORE_UNAVAILABLE */
export function openExampleUsers(options: ExampleUsersOptions = {}): ExampleUsers {
  checkOptions(options, exampleUsersChecks);
  const { path } = options;
  return orUnavailable(path, () => {
    if (path !== undefined) createFile(path);
    const database = new DatabaseSync(path ?? ':memory:', { timeout: lockTimeoutMs });
    createUsers(database);
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

/**
 * Only the owner may use it, as with all files of a data directory. O_NONBLOCK: a FIFO is an error instead of a wait.
 */
function createFile(path: string): void {
  const { O_WRONLY, O_CREAT, O_NONBLOCK = 0 } = constants;
  closeSync(openSync(path, O_WRONLY | O_CREAT | O_NONBLOCK, 0o600));
}

/** If two processes start at once, one of them adds the first user. */
function createUsers(database: DatabaseSync): void {
  database.exec(`
    create table if not exists users (id integer primary key, name text not null, email text not null) strict;
  `);
  const { id, name, email } = firstUser;
  database.prepare('insert into users values (?, ?, ?) on conflict do nothing').run(id, name, email);
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
