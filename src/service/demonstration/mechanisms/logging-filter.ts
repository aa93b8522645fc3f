import type { Filter } from '../../../http/filter.ts';
import type { RecordLog } from './record.ts';

/** Writes one record per request, and sets the response header `Request-Time`, in ms. */
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
