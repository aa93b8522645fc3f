// Finds the operator of a request by the token, and checks that the role permits the route. Operators with the role
// `send` see only their own broadcasts, and no data about people.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Audience } from '../delivery/broadcast/audience.ts';
import { requireDefaults } from '../delivery/broadcast/reader-options.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { hashOperatorToken } from '../keys/secret-files.ts';
import { defaultRoles, readers } from '../operations/operation.ts';
import { encodeMessage } from '../protocol/message/encode-payload.ts';
import type { Message } from '../protocol/message/message.ts';
import type { Broadcast } from '../store/broadcasts.ts';
import type { DeliveryOptions } from '../store/delivery-options.ts';
import type { Operator, OperatorRole, OperatorStore } from '../store/operators.ts';
import type { Store } from '../store/store.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The operator who made the request; `null` until the token has been checked. */
    operator: Operator | null;
  }
  interface FastifyContextConfig {
    /** Annotation of a route. Lists the permitted roles, if they differ from the default. */
    roles?: readonly OperatorRole[] | undefined;
  }
}

/** Refuses every request of the scope whose token is missing or does not permit it. */
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

export const consoleRoles: readonly OperatorRole[] = readers;
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** True if the method is safe, so that it changes nothing (RFC 9110 §9.2.1). */
export const isSafe = (method: string): boolean => safeMethods.has(method);

/** @throws {DeskbellError} ERR_TOKEN_ROLE if the operator's role does not permit the request */
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

type Asking = Operator | null;

/** The operator's id, if only broadcasts of this operator are visible; `undefined` if all broadcasts are visible. */
export const ownerIdOf = (operator: Asking): number | undefined =>
  operator?.role === 'send' ? operator.id : undefined;

/** @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND if the broadcast does not exist or is not visible */
export async function getOwnBroadcast(
  { broadcasts, operators }: Pick<Store, 'broadcasts' | 'operators'>,
  id: number,
  operator: Asking,
): Promise<Broadcast> {
  const ownerId = ownerIdOf(operator);
  if (ownerId === undefined || (await operators.ownsBroadcast(id, ownerId))) return broadcasts.get(id);
  throw new DeskbellError('ERR_BROADCAST_NOT_FOUND', `There is no broadcast ${id}.`);
}

/** Records who owns a new broadcast. @throws {DeskbellError} ERR_IDEMPOTENCY_KEY if another operator owns it */
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

/**
 * Options whose effect reveals something about a person: channel choices, the time zone, or other operators' messages.
 */
const optionsAboutPeople = ['channel', 'perPerson', 'skipInactive', 'localTime', 'quietHours'] as const;

/** True if the audience names its recipients; false if the audience is everybody or everybody with certain tags. */
const namesRecipients = (audience: Audience): audience is Exclude<Audience, string> =>
  typeof audience !== 'string' && ('user' in audience || !('tags' in audience));

/**
 * Refuses a broadcast whose counts would reveal something about a person to an operator with the role `send`.
 *
 * @throws {DeskbellError} ERR_TOKEN_ROLE, ERR_PLACEHOLDER_VALUE
 */
export function assertTellsNothing(
  operator: Asking,
  audience: Audience,
  message: Message,
  options: DeliveryOptions,
): void {
  if (ownerIdOf(operator) === undefined || !namesRecipients(audience)) return;
  const told = optionsAboutPeople.find((name) => options[name] !== undefined);
  const withTexts = message.texts === undefined ? told : 'message.texts';
  const member = 'tags' in audience && audience.tags !== undefined ? 'audience.tags' : withTexts;
  if (member !== undefined) {
    throw new DeskbellError(
      'ERR_TOKEN_ROLE',
      `With the role "send", a broadcast to recipients that it names cannot have ${member}: who is reached would tell what is known of a person.`,
    );
  }
  assertSameForAll(operator, message);
}

/** Requires defaults for all placeholders if the role is `send`. @throws {DeskbellError} ERR_PLACEHOLDER_VALUE */
export function assertSameForAll(operator: Asking, message: Message): void {
  if (ownerIdOf(operator) !== undefined) requireDefaults(encodeMessage(message).placeholders);
}

/** Whether the operator may see subscription ids. The role `send` must not learn which subscriptions a person has.
 * @param audience the audience of a broadcast, or the recipient of a message */
export const tellsSubscriptions = (operator: Asking, audience: object | string | undefined): boolean =>
  ownerIdOf(operator) === undefined || typeof audience !== 'object' || !('user' in audience);

/**
 * Checks that the operator may see the rows of a broadcast, which name subscriptions.
 *
 * @param user the user whose rows are requested
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
