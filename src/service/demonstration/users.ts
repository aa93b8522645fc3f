// The example user API, and its users in their own SQLite file. Ids are int64: `bigint` in code, decimal in the path,
// and JSON numbers with every digit in responses.
import { closeSync, constants, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { checkOptions, isText, type OptionChecks } from '../../errors/check-options.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { contentResponse, type Operation } from '../../http/description/operation.ts';
import { exactNumber, sendJson } from '../../http/json-body.ts';
import { type ServiceApp, Type } from '../../http/schema.ts';
import { compileValidator } from '../description.ts';

/** A user of the example API. */
export interface ExampleUser {
  readonly id: bigint;
  readonly name: string;
  readonly email: string;
}

/** The example API's users, as `openExampleUsers` returns them. */
export interface ExampleUsers {
  find(id: bigint): Promise<ExampleUser | undefined>;
  /** Returns false if there is no such user. */
  update(user: ExampleUser): Promise<boolean>;
  close(): void;
}

/** `openExampleUsers` takes these options. */
export interface ExampleUsersOptions {
  /** The path of the file, which is created with one user if it does not exist. Default: in memory. */
  readonly path?: string | undefined;
}

const lockTimeoutMs = 1000;
const firstUser = { id: 1n, name: 'Ada Example', email: 'ada@example.org' };

const exampleUsersChecks: OptionChecks<ExampleUsersOptions> = { path: isText };

/**
 * Opens the database with the users of the example API.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION, ERR_STORE_UNAVAILABLE
 */
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

/** With O_NONBLOCK, opening a FIFO fails instead of waiting. */
function createFile(path: string): void {
  const { O_WRONLY, O_CREAT, O_NONBLOCK = 0 } = constants;
  closeSync(openSync(path, O_WRONLY | O_CREAT | O_NONBLOCK, 0o600));
}

/** If two processes start at once, only one of them adds the first user. */
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

const minId = -(2n ** 63n);
const maxId = 2n ** 63n - 1n;
const decimal = /^(0|-?[1-9][0-9]{0,18})$/;

const userParams = Type.Object({
  user_id: Type.Unsafe<bigint>({ type: 'integer', format: 'int64', description: 'A decimal int64.' }),
});
const nonEmptyText = Type.String({ minLength: 1, format: 'text' });
const userUpdate = Type.Named(
  'UserUpdate',
  { name: nonEmptyText, email: nonEmptyText },
  { examples: [{ name: firstUser.name, email: firstUser.email }] },
);
const userRecord = Type.Named('User', {
  id: userParams.properties.user_id,
  name: Type.String(),
  email: Type.String(),
});
const exampleUser = { ...firstUser, id: Number(firstUser.id) };

const errors = ['ERR_USER_ID_INVALID', 'ERR_USER_NOT_FOUND', 'ERR_STORE_UNAVAILABLE'] as const;
const getOperation: Operation = {
  operationId: 'getUser',
  tag: 'Example',
  summary: 'A user',
  responses: { 200: contentResponse('application/json', 'The user.', userRecord, exampleUser) },
  errors,
};
const putOperation: Operation = {
  operationId: 'updateUser',
  tag: 'Example',
  summary: 'Replaces name and email of a user',
  responses: { 200: { description: 'Replaced.' } },
  errors,
};

export function addUserRoutes(app: ServiceApp, users: ExampleUsers): void {
  const wildcardParam = 'user_id';
  app.get(
    '/v1/user/*',
    { schema: { params: userParams }, validatorCompiler, config: { operation: getOperation, wildcardParam } },
    async (request, reply) => {
      const user = await users.find(request.params.user_id);
      if (user === undefined) throw notFound();
      return sendJson(reply, { ...user, id: exactNumber(user.id) });
    },
  );

  app.put(
    '/v1/user/*',
    {
      schema: { params: userParams, body: userUpdate },
      validatorCompiler,
      config: { operation: putOperation, wildcardParam },
    },
    async (request, reply) => {
      const { name, email } = request.body;
      if (!(await users.update({ id: request.params.user_id, name, email }))) throw notFound();
      return reply.send();
    },
  );
}

// Reads the id as a bigint from the path, because the schema's validator would convert it to a number.
const validatorCompiler: typeof compileValidator = (route) =>
  route.httpPart === 'params' ? validateUserId : compileValidator(route);

function validateUserId({ user_id: text }: { user_id: string }) {
  const id = decimal.test(text) ? BigInt(text) : undefined;
  if (id !== undefined && id >= minId && id <= maxId) return { value: { user_id: id } };
  const detail = `The user id is not a decimal between ${minId} and ${maxId}.`;
  const fields = [{ pointer: '/user_id', code: 'ERR_USER_ID_INVALID', detail }] as const;
  return { error: new DeskbellError('ERR_USER_ID_INVALID', detail, { fields }) };
}

function notFound(): DeskbellError {
  return new DeskbellError('ERR_USER_NOT_FOUND', 'No user has this id.');
}
