// Authenticators are attached to actions by annotating routes. They run before the action, and see no response.
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { amendOperation } from '../../http/description/operation.ts';
import { ActionRequest, type ReadSession, type RecordLog, requestRecord } from './logging-mechanisms.ts';

/** The decision of an authenticator. `unauthenticated` leads to a 401, and `forbidden` to a 403. */
export type Verdict = 'pass' | 'unauthenticated' | 'forbidden';
/** Decides whether a request to the demonstration may go ahead. */
export type Authenticator = (request: ActionRequest) => Verdict | Promise<Verdict>;

declare module 'fastify' {
  interface FastifyContextConfig {
    authenticator?: Authenticator;
  }
}

/** Enforces `config: { authenticator }` on every route that is added to `app` later. */
export function enforceAuthenticators(app: FastifyInstance, readSession: ReadSession): void {
  const pending = new WeakSet<FastifyRequest>();
  app.addHook('onRoute', (route) => {
    const authenticator = route.config?.authenticator;
    if (authenticator === undefined) return;
    amendOperation(route, {
      errors: ['ERR_UNAUTHENTICATED', 'ERR_FORBIDDEN'],
      security: [{ session: [] }],
    });
    const authenticate = async (request: FastifyRequest): Promise<void> => {
      pending.delete(request);
      assertPassed(await authenticator(new ActionRequest(request, readSession)));
    };
    const { preParsing = [], preValidation = [], errorHandler } = route;
    route.preParsing = [preParsing].flat().concat((request, _reply, _payload, done) => {
      pending.add(request);
      done();
    });
    // Authenticate after the body is parsed and before it is validated.
    route.preValidation = [preValidation, authenticate].flat();
    // If the body cannot be parsed, the hook above does not run. Without a session, such a request gets a 401 too.
    route.errorHandler = async function authenticateFirst(cause, request, reply): Promise<unknown> {
      const isUnreadable = pending.has(request) && !request.raw.socket.destroyed;
      const fault = isUnreadable ? await authenticate(request).then(() => cause, toError) : cause;
      if (errorHandler === undefined) throw fault;
      return errorHandler.call(this, fault, request, reply);
    };
  });
}

const toError = (reason: unknown): FastifyError => reason as FastifyError;

function assertPassed(verdict: Verdict): void {
  if (verdict === 'unauthenticated') {
    throw new DeskbellError('ERR_UNAUTHENTICATED', 'The session has no entry SESSION.');
  }
  if (verdict === 'forbidden') {
    throw new DeskbellError('ERR_FORBIDDEN', 'The session may not do this.');
  }
}

/** Sets the authenticator of each route that is added to `app` later, unless the route sets its own. */
export function annotateClass(app: FastifyInstance, authenticator: Authenticator): void {
  app.addHook('onRoute', (route) => {
    route.config = { authenticator, ...route.config };
  });
}

/**
 * Decides whether a session's `SESSION` entry is accepted.
 *
 * @param session the `SESSION` entry, which may be empty
 */
export type Authorize = (session: string, request: ActionRequest) => boolean | Promise<boolean>;

/**
 * Accepts a request if its session has a `SESSION` entry, and `authorize` does not reject the entry's value. The value
 * may be empty.
 */
export function createSessionAuthenticator(authorize: Authorize, log?: RecordLog): Authenticator {
  return async (request) => {
    const verdict = await verdictOf(request, authorize);
    log?.info({ mechanism: 'authenticator', phase: 'request', ...requestRecord(request), verdict });
    return verdict;
  };
}

async function verdictOf(request: ActionRequest, authorize: Authorize): Promise<Verdict> {
  const value = request.session['SESSION'];
  if (value === undefined) return 'unauthenticated';
  return (await authorize(value, request)) ? 'pass' : 'forbidden';
}
