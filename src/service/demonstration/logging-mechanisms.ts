// The four logging mechanisms: filter, action, action creator, and authenticator (in authenticator.ts).
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { createSealer, type Filter, type SealedValue } from '../../http/filter.ts';

/** The four ways to log requests and responses. */
export type LoggingMechanism = 'action' | 'filter' | 'authenticator' | 'action-creator';

/**
 * A log record of one logging mechanism. Each mechanism logs only the part of the request that it receives.
 */
export interface MechanismRecord {
  readonly mechanism: LoggingMechanism;
  readonly phase: 'request' | 'result';
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly body?: unknown;
  readonly session?: SessionEntries;
  readonly result?: unknown;
  /** Why the action failed; `true` if the logging mechanism cannot see why. */
  readonly failure?: string | true;
  readonly verdict?: string;
  readonly status?: number;
  readonly elapsedMs?: number;
  readonly isAborted?: true;
}

/** The log to which the logging mechanisms write, such as a pino logger. */
export interface RecordLog {
  info(record: MechanismRecord): void;
}

export function requestRecord({ method, url, body, session }: ActionRequest): Partial<MechanismRecord> {
  return { method, url, body, session };
}

/** A session's entries by name. If the request has no session, this object is empty. */
export type SessionEntries = Readonly<Record<string, string>>;

/** Reads the session of a request. The result is empty if there is no session. */
export type ReadSession = (request: FastifyRequest) => SessionEntries;

/** A request as actions, authenticators and action creators see it, without access to the response. */
export class ActionRequest {
  readonly method: string;
  /** Path and query, unchanged. */
  readonly url: string;
  readonly body: unknown;
  readonly session: SessionEntries;

  constructor(request: FastifyRequest, readSession: ReadSession) {
    this.method = request.method;
    this.url = request.originalUrl;
    this.body = request.body;
    this.session = readSession(request);
  }
}

// The logging mechanism `action`: each action's own code calls the log, and so can log everything, including the
// result.

/** Calls `work`, the function that runs the action. May also write log records about the action. */
export type InAction = (request: ActionRequest, work: () => unknown) => unknown;

/** Runs an action, and writes one log record, which contains the request and the action's result or failure. */
export function createActionLogging(log: RecordLog): InAction {
  return async (request, work) => {
    const record = { mechanism: 'action', phase: 'result', ...requestRecord(request) } as const;
    try {
      const result = await work();
      log.info({ ...record, result });
      return result;
    } catch (error) {
      log.info({ ...record, failure: String(error) });
      throw error;
    }
  };
}

/** Writes one record per request, and sets the `Request-Time` response header, in ms. */
export function createLoggingFilter(log: RecordLog): Filter {
  return ({ method, url, startMs }) => {
    return (response) => {
      const elapsedMs = Math.round(performance.now() - startMs);
      response.setHeader('Request-Time', String(elapsedMs));
      const { status } = response;
      const record = { mechanism: 'filter', phase: 'result', method, url, status, elapsedMs } as const;
      log.info(response.isAborted ? { ...record, isAborted: true } : record);
    };
  };
}

// The action creator wraps every action of a scope, but cannot read the result of an action.

/** The parts of an action's result that a logging mechanism can see. The body is an opaque value. */
export interface ActionResult {
  /** True if the action threw; `entity` is then the thrown value. */
  readonly isFailure: boolean;
  readonly entity: SealedValue;
}

/** Runs the action once and returns its result. */
export type ActionCreator = (
  request: ActionRequest,
  action: () => Promise<ActionResult>,
) => Promise<ActionResult>;

/** Wraps the handler of every route that is added to the scope afterwards. Handlers return the value to send. */
export function useActionCreator(
  app: FastifyInstance,
  creator: ActionCreator,
  readSession: ReadSession,
): void {
  const opener = createSealer<unknown>();
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = async function createdAction(this: FastifyInstance, request, reply): Promise<unknown> {
      const { isFailure, entity } = await creator(new ActionRequest(request, readSession), async () => {
        try {
          return { isFailure: false, entity: opener.seal(await handler.call(this, request, reply)) };
        } catch (error) {
          return { isFailure: true, entity: opener.seal(error) };
        }
      });
      if (isFailure) throw opener.open(entity);
      return opener.open(entity);
    };
  });
}

/** Writes one record before the action, and another after it. */
export function createLoggingActionCreator(log: RecordLog): ActionCreator {
  return async (request, action) => {
    const mechanism = 'action-creator';
    const record = requestRecord(request);
    log.info({ mechanism, phase: 'request', ...record });
    const result = await action();
    log.info({ mechanism, phase: 'result', ...record, ...(result.isFailure && { failure: true }) });
    return result;
  };
}
