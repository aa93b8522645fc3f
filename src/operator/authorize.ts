// Who may do what: the operator of a request, by the token that it carries, and what the operator's role permits.
import type { FastifyInstance, FastifyRequest } from 'fastify';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { hashOperatorToken } from '../keys/operator-token.ts';
import { defaultRoles, readers } from '../operations/operation.ts';
import type { Operator, OperatorRole, OperatorStore } from '../store/operators.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who makes the request; `null` until that is known. */
    operator: Operator | null;
  }
  interface FastifyContextConfig {
    /** Annotation of a route: who may use it, where that is not who may read, or, with an unsafe method, change. */
    roles?: readonly OperatorRole[] | undefined;
  }
}

/** To be called once for the listener. */
export function nameOperators(app: FastifyInstance): void {
  app.decorateRequest('operator', null);
}

/** Refuses every request of the scope that carries no token, or one that does not permit it. */
export function requireToken(app: FastifyInstance, operators: OperatorStore): void {
  app.addHook('onRequest', async (request, reply) => {
    const operator = await findOperator(request, operators);
    if (operator === undefined) {
      reply.header('www-authenticate', 'Bearer realm="deskbell"');
      throw new DeskbellError('ERR_TOKEN_INVALID', 'The request carries no valid token.');
    }
    request.operator = operator;
    assertPermitted(request, operator);
  });
}

/** Who may sign in to the console. */
export const consoleRoles: readonly OperatorRole[] = readers;
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether a method changes nothing (RFC 9110 §9.2.1). */
export const isSafe = (method: string): boolean => safeMethods.has(method);

/** @throws {DeskbellError} ERR_TOKEN_ROLE where the operator's role does not permit the request */
export function assertPermitted({ method, routeOptions }: FastifyRequest, { name, role }: Operator): void {
  const permitted = routeOptions.config.roles ?? defaultRoles(isSafe(method));
  if (permitted.includes(role)) return;
  throw new DeskbellError('ERR_TOKEN_ROLE', `The role of ${name} is "${role}", which does not permit this.`);
}

async function findOperator(
  { headers }: FastifyRequest,
  operators: OperatorStore,
): Promise<Operator | undefined> {
  const [, token] = /^Bearer +([\w-]{1,200})$/i.exec(headers.authorization ?? '') ?? [];
  return token === undefined ? undefined : operators.findByToken(hashOperatorToken(token));
}
