// While a sender sends, reports every few seconds to the store how its transport sees the push services.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { SenderReport, SenderReports } from '../../store/sending.ts';
import type { Transport } from '../../transport/create-transport.ts';
import type { ClockCheck } from './clock-check.ts';

const reportEveryMs = 2000;
/** After this many intervals, a report is sent even if nothing has changed, to show that the process is alive. */
const silentIntervals = 4;
/** A sender that ends waits at most this long for the removal of its report. A report that stays is soon ignored. */
const withdrawWithinMs = 1000;
/** Only the busiest push services are reported, because strangers can register endpoints at any number of hosts. */
const maxPushServices = 50;

/**
 * Regularly stores a report about this sender. Errors of the store are ignored here, because they also occur, and are
 * reported, when the sender sends.
 *
 * @param self this sender; if its kind is `single`, it reports only after it has sent something
 * @returns a function that stops the reports and deletes the stored one
 */
export function startSenderReport(
  senders: SenderReports,
  transport: Pick<Transport, 'snapshot'>,
  { kind, subject }: Pick<SenderReport, 'kind' | 'subject'>,
  clockCheck: Pick<ClockCheck, 'differenceMs'>,
): () => Promise<void> {
  const id = randomUUID();
  const head = { id, machine: hostname(), processId: process.pid, kind, subject, startedAtMs: Date.now() };
  let last: string | undefined;
  let intervals = 0;

  const report = async (): Promise<void> => {
    const pushServices = transport
      .snapshot()
      .toSorted((one, other) => other.answers - one.answers)
      .slice(0, maxPushServices);
    if (kind === 'single' && pushServices.length === 0) return;
    const clockDifferenceMs = clockCheck.differenceMs;
    const text = JSON.stringify(pushServices);
    intervals += 1;
    if (text === last && intervals < silentIntervals) return;
    last = text;
    intervals = 0;
    await senders.put({ ...head, pushServices, clockDifferenceMs });
  };

  let reporting = Promise.resolve();
  const timer = setInterval(() => (reporting = report().catch(() => {})), reportEveryMs).unref();
  const withdraw = async (): Promise<void> => {
    await reporting;
    if (last !== undefined) await senders.remove(id).catch(() => {});
  };
  return async () => {
    clearInterval(timer);
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    const late = setTimeout(resolve, withdrawWithinMs);
    await Promise.race([withdraw(), isLate]);
    clearTimeout(late);
  };
}
