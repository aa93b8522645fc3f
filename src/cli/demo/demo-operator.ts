// The operator's listener of the demo: with an operator of its own, and with the delivery of what is made through it.
import { formatReachability } from '../../delivery/broadcast/watch-push-services.ts';
import type { Sender } from '../../delivery/sender.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { generateOperatorToken } from '../../keys/operator-token.ts';
import type { Log } from '../../http/log.ts';
import { createMetrics } from '../../operator/metrics/metrics.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import { openOperator } from '../serve/open-operator.ts';
import { withReport, type DeliveryReport } from '../serve/report-delivery.ts';

export interface DemoOperator {
  readonly address: string;
  readonly token: string;
  close(): Promise<void>;
}

const usualPort = 8081;

/** Listens on the usual port, or on a free one if that is in use. @param onEvent is told what happens to broadcasts */
export async function openDemoOperator(
  data: DataDirectory,
  sender: Sender,
  log: Log,
  host: string,
  onEvent: DeliveryReport['event'],
): Promise<DemoOperator> {
  const { token, tokenHash } = generateOperatorToken();
  await data.store.operators.add({ name: 'demo', role: 'full', tokenHash });
  const metrics = createMetrics(data.store);
  const open = (port: number) => openOperator({ host, port }, data, { sender, log, metrics });
  const listener = await open(usualPort).catch((error: unknown) => {
    if (error instanceof DeskbellError && error.code === 'ERR_LISTEN') return open(0);
    throw error;
  });
  const stop = new AbortController();
  const report: DeliveryReport = {
    event: onEvent,
    reachability: (event) => log.error({ event: 'push service', detail: formatReachability(event) }),
    error: (error) => log.error({ event: 'delivery interrupted', error }),
  };
  const delivery = withReport(data.store, report, {
    delivers: true,
    work: (onFault) => sender.work(stop.signal, onFault),
  });
  return {
    address: listener.address,
    token,
    close: async () => {
      await listener.close();
      stop.abort();
      await delivery;
    },
  };
}
