// Who may do what: the operator of a request, by the token that it carries, and what the operator's role permits.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Audience } from '../delivery/broadcast/audience.ts';
import { requireDefaults } from '../delivery/broadcast/reader-options.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { hashOperatorToken } from '../keys/operator-token.ts';
import { defaultRoles, readers } from '../operations/operation.ts';
import { encodeMessage } from '../protocol/message/encode-payload.ts';
import type { Message } from '../protocol/message/message.ts';
import type { Broadcast } from '../store/broadcasts.ts';
import type { DeliveryOptions } from '../store/delivery-options.ts';
import type { Operator, OperatorRole, OperatorStore } from '../store/operators.ts';
import type { Store } from '../store/store.ts';

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

// What an operator with the role `send` sees: of broadcasts those that it made itself, and nothing of what is known of people.
// Everybody else sees all.

type Asking = Operator | null;

/** Whose broadcasts alone are seen; `undefined` where all are. */
export const ownerIdOf = (operator: Asking): number | undefined =>
  operator?.role === 'send' ? operator.id : undefined;

/** @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND, also where it is not seen */
export async function getOwnBroadcast(
  { broadcasts, operators }: Pick<Store, 'broadcasts' | 'operators'>,
  id: number,
  operator: Asking,
): Promise<Broadcast> {
  const ownerId = ownerIdOf(operator);
  if (ownerId === undefined || (await operators.ownsBroadcast(id, ownerId))) return broadcasts.get(id);
  throw new DeskbellError('ERR_BROADCAST_NOT_FOUND', `There is no broadcast ${id}.`);
}

/** Makes a broadcast that one has created one's own. @throws {DeskbellError} ERR_IDEMPOTENCY_KEY where another has */
export async function claimBroadcast(
  operators: OperatorStore,
  { id, createdBy }: Pick<Broadcast, 'id' | 'createdBy'>,
  operator: Asking,
): Promise<void> {
  const ownerId = ownerIdOf(operator);
  if (ownerId === undefined) return;
  const isCreator =
    createdBy !== undefined && 'operator' in createdBy && createdBy.operator === operator?.name;
  if (isCreator && (await operators.claimBroadcast(id, ownerId))) return;
  throw new DeskbellError(
    'ERR_IDEMPOTENCY_KEY',
    'The idempotency key belongs to a broadcast of another operator.',
  );
}

/** Whether one of them is reached, and when, tells something of the person: a choice, a time zone, what others have sent. */
const optionsAboutPeople = ['channel', 'perPerson', 'skipInactive', 'localTime', 'quietHours'] as const;

/**
 * Refuses a broadcast whose numbers would tell an operator with the role `send` what is known of a person.
 *
 * @throws {DeskbellError} ERR_TOKEN_ROLE, ERR_PLACEHOLDER_VALUE
 */
export function assertTellsNothing(
  operator: Asking,
  audience: Audience,
  message: Message,
  options: DeliveryOptions,
): void {
  if (ownerIdOf(operator) === undefined || typeof audience === 'string' || !('user' in audience)) return;
  const told = optionsAboutPeople.find((name) => options[name] !== undefined);
  const withTexts = message.texts === undefined ? told : 'message.texts';
  const member = 'tags' in audience && audience.tags !== undefined ? 'audience.tags' : withTexts;
  if (member !== undefined) {
    throw new DeskbellError(
      'ERR_TOKEN_ROLE',
      `With the role "send", a broadcast to one person cannot have ${member}: who is reached would tell what is known of the person.`,
    );
  }
  assertSameForAll(operator, message);
}

/** With the role `send`, whether a message can be sent does not depend on a person's data. @throws {DeskbellError} ERR_PLACEHOLDER_VALUE */
export function assertSameForAll(operator: Asking, message: Message): void {
  if (ownerIdOf(operator) !== undefined) requireDefaults(encodeMessage(message).placeholders);
}

/** Which subscriptions a person has is not told to the role `send`. @param audience of a broadcast, or who is addressed */
export const tellsSubscriptions = (operator: Asking, audience: object | string | undefined): boolean =>
  ownerIdOf(operator) === undefined || typeof audience !== 'object' || !('user' in audience);

/**
 * Whether rows of a broadcast may be shown, which name subscriptions.
 *
 * @param user whose rows are asked for
 * @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND, ERR_TOKEN_ROLE
 */
export async function assertShowsRows(
  store: Pick<Store, 'broadcasts' | 'operators'>,
  id: number,
  operator: Asking,
  user?: string,
): Promise<void> {
  const { audience } = await getOwnBroadcast(store, id, operator);
  if (tellsSubscriptions(operator, user === undefined ? audience : { user })) return;
  throw new DeskbellError(
    'ERR_TOKEN_ROLE',
    'The role "send" is not shown which subscriptions a person has: ask for the broadcast itself, which has the numbers.',
  );
}
