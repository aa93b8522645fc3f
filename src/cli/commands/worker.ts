// `deskbell worker`: delivers all broadcasts of the store, current and future, until it is told to stop.
import { inspect } from 'node:util';
import type { Command } from 'commander';
import { countOf } from '../../errors/format-count.ts';
import { type BroadcastEvent, formatEvent, formatReachability } from '../../delivery/broadcast/watch.ts';
import { broadcastToJson } from '../../operations/broadcasts.ts';
import { alarmToJson } from '../../operations/alarms.ts';
import { isOver } from '../../store/broadcasts.ts';
import { createWarningReader } from '../../delivery/alarms/installation-warnings.ts';
import { createMetrics } from '../../operator/metrics/metrics.ts';
import { type Context, createCommand } from '../command.ts';
import {
  accessSettings,
  dataSettings,
  retentionSettings,
  senderSettings,
} from '../configuration/configuration.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import { withExistingData } from '../data/open-data.ts';
import { machineFiguresReader, openMetricsListener, readListenerAccess } from '../serve/open-operator.ts';
import { compileForDelivery, openSender } from '../send/open-sender.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import { withReport, type DeliveryReport } from '../serve/report-delivery.ts';
import { formatError } from '../output/failure.ts';
import { withRetention } from '../data/retention-loop.ts';
import { underSystemd } from './serve.ts';
import { ignoreHangup } from '../serve/listening.ts';
import type { JsonFlag, Output } from '../output/output.ts';

export function workerCommand(context: Context): Command {
  return createCommand({
    name: 'worker',
    description:
      'Delivers stored broadcasts. Stored broadcasts are broadcasts from "send --detach" and "send --at", and ' +
      'broadcasts whose ' +
      'process ended. The worker prints a line when a broadcast starts, raises an alarm or ends. Any number of ' +
      'workers can run at the same time.',
    settings: [...dataSettings, ...senderSettings, ...retentionSettings, 'metrics', ...accessSettings],
    json: 'Prints JSON Lines: the events of broadcasts.',
    examples: ['deskbell worker --subject mailto:you@example.org'],
  }).action(async (flags: JsonFlag) => {
    const configuration = await readConfiguration({ flags, environment: context.environment });
    const { output, stop } = context;
    ignoreHangup(context);
    const onWarning = (warning: string): void => output.diagnostic(`deskbell: ${warning}`);
    const run = async (data: DataDirectory): Promise<void> => {
      const readWarnings = createWarningReader(data.store, data.vapidKeys.keyDirectory);
      for (const { detail, remedy } of await readWarnings()) onWarning(`${detail} ${remedy}`);
      const access = await readListenerAccess(configuration.metrics, configuration);
      const machine = { ...configuration, maxSubscriptions: undefined };
      const readMachine = machineFiguresReader(machine, access?.tls?.cert);
      const metrics =
        access &&
        createMetrics(data.store, { pushServices: configuration.pushServices, readWarnings, readMachine });
      compileForDelivery();
      await using sender = await openSender(configuration, data, context, {
        onWarning,
        onFigures: metrics?.recordFigures,
        json: flags.json,
      });
      const log = { info: () => {}, error: (record: object) => output.diagnostic(inspect(record)) };
      await using listener =
        metrics && access && (await openMetricsListener(access, { store: data.store, metrics, log }));
      const { threads } = configuration;
      await output.result(
        flags,
        { event: 'ready', threads, metrics: listener?.address },
        `Deskbell delivers broadcasts with ${countOf(threads, 'thread')}.${
          listener === undefined ? '' : ` Metrics are at ${listener.address}/metrics.`
        }`,
      );
      const report = createReport(output, flags);
      await underSystemd(context, onWarning, () =>
        withRetention(data.store, configuration, report.error, () =>
          withReport(data.store, report, {
            delivers: true,
            work: (onFault) => sender.work(stop, onFault),
          }),
        ),
      );
      await output.result(flags, { event: 'stopped' }, 'Deskbell has stopped.');
    };
    await withExistingData(configuration, run, { onWarning });
  });
}

const createReport = (output: Output, flags: JsonFlag): DeliveryReport => ({
  event: (event) => output.result(flags, toJson(event), formatEvent(event)),
  reachability: (event) => output.diagnostic(`deskbell: ${formatReachability(event)}`),
  error: (error) => output.diagnostic(formatError(error)),
});

function toJson(event: BroadcastEvent): object {
  const { broadcast } = event;
  if (event.kind === 'alarm') return { event: 'alarm', id: broadcast.id, ...alarmToJson(event.alarm) };
  return { event: isOver(broadcast) ? 'summary' : 'broadcast', ...broadcastToJson(broadcast) };
}
