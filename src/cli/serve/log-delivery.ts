// What is delivered, and by whom, in the log of `serve`.
import { isoTime, nonZeroCounts, stateOf } from '../../delivery/broadcast/format-broadcast.ts';
import { formatReachability } from '../../delivery/broadcast/watch-push-services.ts';
import type { Log } from '../../http/log.ts';
import { formatError } from '../output/failure.ts';
import type { DeliveryReport } from './report-delivery.ts';

/** What an operator has to act upon is an error. */
export const logDelivery = (log: Log): DeliveryReport => ({
  event(event) {
    const { id, recipients } = event.broadcast;
    if (event.kind === 'alarm') {
      const { origin, reason, detail } = event.alarm;
      log.error({ event: 'alarm', broadcast: id, pushService: origin, reason, detail });
    } else {
      const counts = Object.fromEntries(nonZeroCounts(event.broadcast));
      log.info({ event: 'broadcast', broadcast: id, state: stateOf(event.broadcast), recipients, ...counts });
    }
  },
  worker({ state, machine, processId, startedAtMs }) {
    const record = { event: 'worker', machine, processId, state, startedAt: isoTime(startedAtMs) };
    if (state === 'lost') log.error(record);
    else log.info(record);
  },
  reachability(event) {
    const record = { event: 'push service', pushService: event.origin, state: event.state };
    const detail = formatReachability(event);
    if (event.state === 'unreachable') log.error({ ...record, since: isoTime(event.sinceMs), detail });
    else log.info({ ...record, detail });
  },
  error: (error) => log.error({ event: 'delivery interrupted', detail: formatError(error) }),
});
