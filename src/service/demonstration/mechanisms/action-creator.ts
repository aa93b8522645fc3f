// The action creator wraps every action of a scope; the action's result is opaque to it.
import type { FastifyInstance } from 'fastify';

import { ActionRequest, type ReadSession } from './action-request.ts';
import { createSealer, type SealedValue } from '../../../http/filter.ts';
import { requestRecord, type RecordLog } from './record.ts';

/** An action's result; its body is opaque. */
export interface ActionResult {
  /** True if the action threw; the entity is then what it threw. */
  readonly isFailure: boolean;
  readonly entity: SealedValue;
}

/** Runs the action once and returns its result. */
export type ActionCreator = (
  request: ActionRequest,
  action: () => Promise<ActionResult>,
) => Promise<ActionResult>;

/** Wraps every route that is added to the scope afterwards. Their handlers return what they answer. */
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
