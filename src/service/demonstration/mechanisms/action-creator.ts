// The action creator: wraps every action of a scope, attached by one entry. It receives the request with its body and
// session, and the action's result as an opaque entity that it must return.
import type { FastifyInstance } from 'fastify';

import { ActionRequest, type ReadSession } from './action-request.ts';
import { createSealer, type SealedValue } from '../../../http/sealed-value.ts';
import { requestRecord, type RecordLog } from './record.ts';

/** The result of an action. Its body is opaque to an action creator. */
export interface ActionResult {
  /** True where the action threw; what it threw is in the entity. */
  readonly isFailure: boolean;
  readonly entity: SealedValue;
}

/** Runs the action, once, and returns its result. */
export type ActionCreator = (
  request: ActionRequest,
  action: () => Promise<ActionResult>,
) => Promise<ActionResult>;

/** Wraps every route that is added to the scope afterwards. Handlers there return what they answer. */
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

/** Writes one record before the action and one after it. */
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
