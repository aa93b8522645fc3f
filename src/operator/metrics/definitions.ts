// The metrics by name, in Prometheus' text format, and the figures behind them. Values are set only when metrics are
// requested, so that sending spends no time on them.
import { hostname } from 'node:os';
import { alarmKinds, rankOf } from '../../delivery/alarms/alarm-kinds.ts';
import { readAlarms } from '../../delivery/alarms/read-alarms.ts';
import {
  type DeliveryFigures,
  durationBoundsSeconds,
  DurationTally,
} from '../../delivery/reports/figures.ts';
import type { ReadWarnings } from '../../delivery/alarms/installation-warnings.ts';
import { createEndpointPolicy, type PushServices } from '../../protocol/endpoint-policy.ts';
import { knownDomains, knownHosts, pushServiceName } from '../../protocol/known-push-services.ts';
import { settlements } from '../../store/broadcasts.ts';
import type { Store } from '../../store/store.ts';

/** Figures of the machine that handles the request; unknown figures are absent. */
export interface MachineFigures {
  /** The disk of the data directory. */
  readonly disk?: { readonly freeBytes: number; readonly sizeBytes: number } | undefined;
  readonly subscriptionLimit?: number | undefined;
  /** The certificate of the operator's listener. */
  readonly certificateEndsAtMs?: number | undefined;
  /** When the last backup was made; 0 if there was none. */
  readonly lastBackupAtMs?: number | undefined;
}

// Totals come from the database, so every process reports the same totals.

type Totals = Awaited<ReturnType<typeof readTotals>>;

export async function readTotals(store: Store, readWarnings: ReadWarnings) {
  const [outcomes, backlog, subscriptions, pushServices, heldDeletions, senders, alarms, webhook] =
    await Promise.all([
      store.statistics.outcomeTotals(),
      store.statistics.backlog(),
      store.subscriptions.count(),
      store.ledger.pushServices(),
      store.heldDeletions.list(),
      store.senders.list(),
      readAlarms(store, readWarnings),
      store.webhooks.backlog(),
    ]);
  return {
    outcomes,
    backlog,
    subscriptions,
    pushServices,
    heldDeletions,
    senders,
    alarms,
    webhook,
    nowMs: store.now(),
  };
}

// Limits the label values. If a whole domain or any public host is admitted, clients can use any number of hosts.

const maxNames = 50;
const shared = 'other';

export class BoundedNames {
  readonly #admitted = new Set<string>();
  readonly #policy: ReturnType<typeof createEndpointPolicy>;

  /** @param pushServices the push services in the configuration */
  constructor(pushServices: PushServices = []) {
    this.#policy = createEndpointPolicy(pushServices);
  }

  /**
   * Returns `name` if the push service is known, if the configuration lists it, or if it is one of the first fifty
   * hosts of configured domains; otherwise `other`.
   *
   * @param name result of `pushServiceName`
   */
  admit(name: string): string {
    const { isNamedOrigin, isUnlisted } = this.#policy;
    const isReserved = knownHosts.has(name) || knownDomains.has(name);
    if (isReserved || isNamedOrigin(`https://${name}`) || isNamedOrigin(`http://${name}`)) return name;
    if (this.#admitted.has(name)) return name;
    if (isUnlisted(`https://${name}`) || this.#admitted.size >= maxNames) return shared;
    this.#admitted.add(name);
    return name;
  }
}

// Measurements of this process since it started.

/** Results of registrations: stored, refused as invalid, refused by a limit, or failed on our side. */
const registrationResults = ['stored', 'refused', 'limited', 'failed'] as const;
export type RegistrationResult = (typeof registrationResults)[number];

export class ProcessMetrics {
  /** Durations of responses, by push service. */
  readonly answers = new Map<string, DurationTally>();
  readonly commits = new DurationTally();
  leasesLost = 0;
  readonly registrations = new Map<RegistrationResult, number>(
    registrationResults.map((result) => [result, 0]),
  );

  readonly #names: BoundedNames;

  constructor(names: BoundedNames) {
    this.#names = names;
  }

  recordFigures({ answers, commits, leasesLost }: DeliveryFigures): void {
    for (const { pushService, ...counts } of answers) {
      const name = this.#names.admit(pushService);
      let durations = this.answers.get(name);
      if (durations === undefined) {
        durations = new DurationTally();
        this.answers.set(name, durations);
      }
      durations.addCounts(counts);
    }
    this.commits.addCounts(commits);
    this.leasesLost += leasesLost;
  }

  recordRegistration(result: RegistrationResult): void {
    this.registrations.set(result, (this.registrations.get(result) ?? 0) + 1);
  }
}

export type PrometheusClient = typeof import('@prometheus-io/client');
type ContentType = PrometheusClient['prometheusContentType'] | PrometheusClient['openMetricsContentType'];

interface Figures {
  readonly totals: Totals;
  readonly measured: ProcessMetrics;
  readonly machine: MachineFigures;
}

export type RenderFigures = (figures: Figures) => Promise<string>;

export function defineMetrics(
  client: PrometheusClient,
  contentType: ContentType,
  names: BoundedNames,
): RenderFigures {
  const registry = new client.Registry(contentType);
  client.collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const own: { reset(): void }[] = [];
  const counter = (name: string, help: string, labelNames: readonly string[] = []) => {
    const metric = new client.Counter({ name: `deskbell_${name}`, help, labelNames, registers });
    own.push(metric);
    return metric;
  };
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) => {
    const metric = new client.Gauge({ name: `deskbell_${name}`, help, labelNames, registers });
    own.push(metric);
    return metric;
  };
  // a metric with a label is absent, instead of 0, until it is set
  const onMachine = ['machine'];
  const machine = hostname();

  const messages = counter('messages_total', 'Messages by their outcome.', ['origin', 'outcome']);
  const attempts = counter('attempts_total', 'POSTs, repeats included.', ['origin']);
  const pending = gauge('broadcast_pending_rows', 'Rows of running broadcasts without an outcome.');
  const sendable = gauge(
    'broadcast_sendable_rows',
    'Of the pending rows: those that nothing keeps from being sent now.',
  );
  const waiting = gauge(
    'retries_waiting',
    'Of the pending rows: those that were tried before and wait to be tried again.',
  );
  const suspendedRows = gauge(
    'rows_held_back',
    'Of the pending rows: those held back because their push service refuses our token or key.',
  );
  const alarms = gauge('broadcast_alarms', 'Alarms of broadcasts that are not over.', ['reason']);
  const standing = gauge(
    'alarms',
    'Alarms that stand, by kind and rank, and whether somebody has acknowledged them.',
    ['kind', 'rank', 'acknowledged'],
  );
  const broadcastLate = gauge(
    'broadcast_late_seconds',
    'How long the longest broadcast has waited to be begun, if that is a minute or more.',
  );
  const scheduleLate = gauge(
    'schedule_late_seconds',
    'How long the longest schedule has waited for its broadcast, if that is a minute or more.',
  );
  const webhookWaiting = gauge('webhook_events_waiting', 'Webhook events that are not delivered yet.');
  const webhookAge = gauge('webhook_oldest_event_seconds', 'Age of the oldest of them.');
  const webhookDropped = counter('webhook_dropped_total', 'Webhook events that were given up.');
  const suspended = gauge('push_service_held', 'Number of our keys that a push service refuses.', ['origin']);
  const deletions = gauge('held_deletions', 'Subscriptions whose deletion waits for an operator.', [
    'origin',
  ]);
  const subscriptions = gauge('subscriptions', 'Stored subscriptions.');
  const registrations = counter('registrations_total', 'Registrations at this process.', ['result']);
  const diskFree = gauge('disk_free_bytes', 'Free space on the disk of the data directory.', onMachine);
  const diskSize = gauge('disk_size_bytes', 'Size of the disk of the data directory.', onMachine);
  const limit = gauge('subscription_limit', 'How many subscriptions are stored at most.', onMachine);
  const certificate = gauge(
    'certificate_expiry_timestamp_seconds',
    'When the certificate of the operator’s listener ends.',
    onMachine,
  );
  const backup = gauge(
    'last_backup_timestamp_seconds',
    'When the last backup of the data directory ended; 0 if there is none.',
    onMachine,
  );
  const leasesLost = counter('lease_lost_total', 'Leases that another worker took from this process.');
  const breaker = gauge('breaker_open', 'Senders that have paused sending to it after failures.', ['origin']);
  const senders = gauge('senders', 'Workers, and senders of single messages.', ['kind']);
  const answers = histogram(
    'push_request_duration_seconds',
    'From the write of a message of a broadcast to its connection until its answer.',
  );
  const commits = histogram('commit_duration_seconds', 'Commits of pages of rows.');
  for (const metric of [answers, commits]) {
    // The client library's histogram accepts only single observations, but our observations are already counted.
    registry.registerMetric(metric as unknown as Parameters<typeof registry.registerMetric>[0]);
  }

  const setTotals = ({ outcomes, backlog, webhook, ...totals }: Totals): void => {
    for (const kind of alarmKinds)
      for (const acknowledged of ['true', 'false'])
        standing.set({ kind, rank: rankOf(kind), acknowledged }, 0);
    for (const { kind, rank, acknowledgement } of totals.alarms.standing)
      standing.inc({ kind, rank, acknowledged: String(acknowledgement !== undefined) });
    broadcastLate.set(totals.alarms.lateness.broadcastMs / 1000);
    scheduleLate.set(totals.alarms.lateness.scheduleMs / 1000);
    webhookWaiting.set(webhook.waiting);
    webhookAge.set(
      webhook.oldestAtMs === undefined ? 0 : Math.max(0, totals.nowMs - webhook.oldestAtMs) / 1000,
    );
    webhookDropped.inc(webhook.dropped);
    for (const { pushService, ...counts } of outcomes) {
      const origin = names.admit(pushService);
      attempts.inc({ origin }, counts.attempts);
      for (const outcome of settlements) messages.inc({ origin, outcome }, counts[outcome]);
    }
    pending.set(backlog.pendingRows);
    sendable.set(backlog.sendableRows);
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
    for (const [result, count] of measured.registrations) registrations.inc({ result }, count);
    leasesLost.inc(measured.leasesLost);
    answers.durations = [...measured.answers].map(([pushService, durations]) => ({
      labels: { origin: pushService },
      durations,
    }));
    commits.durations = [{ labels: {}, durations: measured.commits }];
  };

  const setMachine = ({
    disk,
    subscriptionLimit,
    certificateEndsAtMs,
    lastBackupAtMs,
  }: MachineFigures): void => {
    for (const [metric, value] of [
      [diskFree, disk?.freeBytes],
      [diskSize, disk?.sizeBytes],
      [limit, subscriptionLimit],
      [certificate, certificateEndsAtMs && certificateEndsAtMs / 1000],
      [backup, lastBackupAtMs && lastBackupAtMs / 1000],
    ] as const) {
      if (value !== undefined) metric.set({ machine }, value);
    }
  };

  return async ({ totals, measured, machine: figures }) => {
    for (const metric of own) metric.reset();
    setTotals(totals);
    setProcessMetrics(measured);
    setMachine(figures);
    return registry.metrics();
  };
}

interface DurationsByLabels {
  readonly labels: Readonly<Record<string, string>>;
  readonly durations: DurationTally;
}

/** A histogram in the form that the library's registry reads. */
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
