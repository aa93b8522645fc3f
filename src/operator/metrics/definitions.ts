// The metrics by name, in the text that Prometheus reads. All values are set from what is given each time, so that nothing
// is spent on them while messages are sent.
import { durationBoundsSeconds, type DurationTally } from '../../delivery/duration-buckets.ts';
import { pushServiceName } from '../../protocol/known-push-services.ts';
import { settlements } from '../../store/broadcasts.ts';
import { BoundedNames } from './bounded-names.ts';
import type { ProcessMetrics } from './process-metrics.ts';
import type { Totals } from './totals.ts';

export type PrometheusClient = typeof import('@prometheus-io/client');
type ContentType = PrometheusClient['prometheusContentType'] | PrometheusClient['openMetricsContentType'];

export interface MetricsRegistry {
  render(totals: Totals, measured: ProcessMetrics): Promise<string>;
}

export function defineMetrics(client: PrometheusClient, contentType: ContentType): MetricsRegistry {
  const registry = new client.Registry(contentType);
  client.collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: readonly string[] = []) =>
    new client.Counter({ name: `deskbell_${name}`, help, labelNames, registers });
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
    new client.Gauge({ name: `deskbell_${name}`, help, labelNames, registers });
  const names = new BoundedNames();

  const messages = counter('messages_total', 'Messages by their outcome.', ['origin', 'outcome']);
  const attempts = counter('attempts_total', 'POSTs, repeats included.', ['origin']);
  const pending = gauge('broadcast_pending_rows', 'Rows of running broadcasts without an outcome.');
  const waiting = gauge(
    'retries_waiting',
    'Of the pending rows: those that were tried before and wait to be tried again.',
  );
  const suspendedRows = gauge(
    'rows_held_back',
    'Of the pending rows: those held back because their push service refuses our token or key.',
  );
  const alarms = gauge('broadcast_alarms', 'Alarms of broadcasts that are not over.', ['reason']);
  const suspended = gauge('push_service_held', 'Whether a push service refuses our token or key.', [
    'origin',
  ]);
  const deletions = gauge('held_deletions', 'Subscriptions whose deletion waits for an operator.', [
    'origin',
  ]);
  const subscriptions = gauge('subscriptions', 'Stored subscriptions.');
  const registrations = counter('registrations_total', 'Registrations at this process.', ['result']);
  const leasesLost = counter('lease_lost_total', 'Leases that another worker took from this process.');
  const breaker = gauge('breaker_open', 'Senders that have paused sending to it after failures.', ['origin']);
  const senders = gauge('senders', 'Workers, and senders of single messages.', ['kind']);
  const answers = histogram(
    'push_request_duration_seconds',
    'From sending a message of a broadcast to its answer.',
  );
  const commits = histogram('commit_duration_seconds', 'Commits of pages of rows.');
  for (const metric of [answers, commits]) {
    // The client counts one observation at a time; ours come as counts.
    registry.registerMetric(metric as unknown as Parameters<typeof registry.registerMetric>[0]);
  }

  const setTotals = ({ outcomes, backlog, ...totals }: Totals): void => {
    for (const metric of [messages, attempts, alarms, suspended, deletions, breaker]) metric.reset();
    for (const { pushService, ...counts } of outcomes) {
      const origin = names.admit(pushService);
      attempts.inc({ origin }, counts.attempts);
      for (const outcome of settlements) messages.inc({ origin, outcome }, counts[outcome]);
    }
    pending.set(backlog.pendingRows);
    waiting.set(backlog.retryRows);
    suspendedRows.set(backlog.suspendedRows);
    for (const { reason, count } of backlog.alarms) alarms.set({ reason }, count);
    for (const { origin, isSuspended } of totals.pushServices) {
      suspended.inc({ origin: names.admit(pushServiceName(origin)) }, Number(isSuspended));
    }
    for (const { origin, subscriptions: count } of totals.heldDeletions) {
      deletions.inc({ origin: names.admit(pushServiceName(origin)) }, count);
    }
    subscriptions.set(totals.subscriptions);
    for (const kind of ['worker', 'single'] as const) {
      senders.set({ kind }, totals.senders.filter((sender) => sender.kind === kind).length);
    }
    for (const { origin, breaker: state } of totals.senders.flatMap(({ pushServices }) => pushServices)) {
      breaker.inc({ origin: names.admit(pushServiceName(origin)) }, Number(state !== 'closed'));
    }
  };

  const setProcessMetrics = (measured: ProcessMetrics): void => {
    for (const metric of [registrations, leasesLost]) metric.reset();
    for (const [result, count] of measured.registrations) registrations.inc({ result }, count);
    leasesLost.inc(measured.leasesLost);
    answers.durations = [...measured.answers].map(([pushService, durations]) => ({
      labels: { origin: pushService },
      durations,
    }));
    commits.durations = [{ labels: {}, durations: measured.commits }];
  };

  return {
    async render(totals, measured) {
      setTotals(totals);
      setProcessMetrics(measured);
      return registry.metrics();
    },
  };
}

interface DurationsByLabels {
  readonly labels: Readonly<Record<string, string>>;
  readonly durations: DurationTally;
}

/** A histogram as a registry of the client reads one. */
function histogram(suffix: string, help: string) {
  const name = `deskbell_${suffix}`;
  const metric = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    durations: [] as readonly DurationsByLabels[],
    reset: () => {},
    get: () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: metric.durations.flatMap(toValues),
    }),
  };

  const toValues = ({ labels, durations: { counts, sumSeconds } }: DurationsByLabels) => {
    let count = 0;
    const buckets = counts.map((inBucket, index) => {
      count += inBucket;
      const le = durationBoundsSeconds[index] ?? '+Inf';
      return { labels: { ...labels, le: String(le) }, value: count, metricName: `${name}_bucket` };
    });
    return [
      ...buckets,
      { labels, value: sumSeconds, metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` },
    ];
  };
  return metric;
}
