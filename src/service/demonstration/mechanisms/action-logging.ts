// Logging by a call in each action's body, which sees everything, including the result.
import type { ActionRequest } from './action-request.ts';
import { requestRecord, type RecordLog } from './record.ts';

/** Takes a request, returns the value to answer as JSON. */
export type Action = (request: ActionRequest) => unknown;

/** Runs the work of an action. */
export type InAction = (request: ActionRequest, work: () => unknown) => unknown;

/** Runs an action's work and writes one record: the request with the result or the failure. */
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
