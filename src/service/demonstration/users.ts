// The example user API. Ids are int64: a decimal in the path, a JSON number with every digit in an answer.
import { type ServiceApp, Type } from '../../http/schema.ts';

import { DeskbellError } from '../../errors/deskbell-error.ts';
import { contentResponse, emptyResponse, type Operation } from '../../http/description/operation.ts';
import { exactNumber, sendJson } from '../../http/json-body.ts';
import { compileValidator } from '../validator.ts';
import { firstUser, type ExampleUsers } from './example-users.ts';

const minId = -(2n ** 63n);
const maxId = 2n ** 63n - 1n;
const decimal = /^(0|-?[1-9][0-9]{0,18})$/;

const userParams = Type.Object({
  user_id: Type.Unsafe<bigint>({ type: 'integer', format: 'int64', description: 'A decimal int64.' }),
});
const nonEmptyText = Type.String({ minLength: 1, format: 'text' });
const userUpdate = Type.Model(
  'UserUpdate',
  Type.Object(
    { name: nonEmptyText, email: nonEmptyText },
    { examples: [{ name: firstUser.name, email: firstUser.email }] },
  ),
);
const userRecord = Type.Model(
  'User',
  Type.Object({ id: userParams.properties.user_id, name: Type.String(), email: Type.String() }),
);
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
  responses: { 200: emptyResponse('Replaced.') },
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

// Reads the id from the path's text; the schema would validate a number.
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
