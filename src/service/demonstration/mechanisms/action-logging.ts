// Logging inside each action: it sees everything, the answer included. One call in the action's own body.
import type { ActionRequest } from './action-request.ts';
import { requestRecord, type RecordLog } from './record.ts';

/** Something that a route does: takes a request, gives the value to be answered as JSON. */
export type Action = (request: ActionRequest) => unknown;

/** Does the work of an action. */
export type InAction = (request: ActionRequest, work: () => unknown) => unknown;

/** Does the work of an action and writes one record: the request and the answer, or the failure. */
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
