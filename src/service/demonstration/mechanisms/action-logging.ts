// Logging inside each action, by one call in the action's body: it sees everything, the result included.
import type { ActionRequest } from './action-request.ts';
import { requestRecord, type RecordLog } from './record.ts';

/** What a route does: takes a request, returns the value to be answered as JSON. */
export type Action = (request: ActionRequest) => unknown;

/** Runs the work of an action. */
export type InAction = (request: ActionRequest, work: () => unknown) => unknown;

/** Runs the work of an action and writes one record: the request with the result or the failure. */
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
