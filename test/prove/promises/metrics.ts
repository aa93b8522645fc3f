// Promises of docs/metrics.md.
import type { DocumentedPromise } from '../promise.ts';

const metricsTest = 'test/operator/metrics.test.ts';
const processes = 'test/cli/metrics.test.ts';
const definitions = 'src/operator/metrics/definitions.ts';
const statistics = 'src/store/statistics.ts';
const eachFigure = { file: metricsTest, title: 'each figure of the database is under its own name' };

export const metrics: readonly DocumentedPromise[] = [
  {
    claim: 'Without their package, `/metrics` and `worker --metrics` say what to install',
    test: { file: processes, title: 'without their package' },
    changes: {
      'src/operator/metrics/metrics.ts': {
        'they say that the configuration is wrong': ["'ERR_METRICS_PACKAGE',", "'ERR_CONFIGURATION',"],
      },
      'src/errors/catalogue/operator-errors.ts': {
        'it is an older version': [
          'npm install @prometheus-io/client@0.16.1',
          'npm install @prometheus-io/client@0.15',
        ],
      },
    },
  },
  {
    claim: 'A worker’s listener serves `/metrics` alone, to who has a token, and with TLS beyond loopback',
    test: { file: metricsTest, title: 'a listener for metrics has nothing else' },
    changes: {
      'src/operator/create-operator.ts': {
        'it needs no token': ['requireToken(scope, options.store.operators);', 'void requireToken;'],
        'it starts without TLS': ['  requireTls(host, isSecure);', '  void [requireTls, host];'],
      },
      'src/cli/serve/open-operator.ts': {
        'a certificate is not used': [
          'createMetricsListener({ ...access,',
          'createMetricsListener({ ...access, tls: undefined,',
        ],
      },
    },
  },
  {
    claim: 'A request that accepts OpenMetrics gets that format, and any other the text of Prometheus',
    test: { file: metricsTest, title: 'OpenMetrics is for who accepts it' },
    changes: {
      'src/operator/metrics/metrics.ts': {
        'nobody gets it': ["accept.includes('application/openmetrics-text')", "accept === '-'"],
        'all get it': ["accept.includes('application/openmetrics-text')", "accept !== '-'"],
      },
    },
  },
  {
    claim: 'Tokens of the roles full and read read metrics too',
    test: { file: metricsTest, title: 'OpenMetrics is for who accepts it' },
    changes: {
      'src/operator/metrics/add-metrics.ts': {
        'that of the role read does not': ["['full', 'read', 'metrics']", "['full', 'metrics']"],
        'that of the role full does not': ["['full', 'read', 'metrics']", "['read', 'metrics']"],
        'that of the role send does': ["['full', 'read', 'metrics']", "['full', 'read', 'send', 'metrics']"],
      },
    },
  },
  {
    claim:
      'The scrape configuration, the alert rules and the dashboard are valid, and ask for metrics that there are',
    test: { file: metricsTest, title: 'scrape configuration, rules and dashboard are valid' },
    changes: {
      'packaging/monitoring/prometheus.yml': { 'a key is unknown': ['credentials_file:', 'token_file:'] },
      [definitions]: {
        'a metric that they ask for has another name': ["'rows_held_back',", "'rows_suspended',"],
      },
    },
  },
  {
    claim: 'Each alert rule fires for what it is about, and says what to do',
    test: { file: metricsTest, title: 'each alert is raised by what it is about' },
    changes: {
      'packaging/monitoring/alerts.yml': {
        'half as many rejections are enough': ['> 0.05 * max by', '> 0.025 * max by'],
        'an alert does not say what to do': [
          '          action: Start `deskbell worker`',
          '          remedy: Start `deskbell worker`',
        ],
        'commits may take a minute': [
          'duration_seconds_bucket[10m]))) > 1',
          'duration_seconds_bucket[10m]))) > 60',
        ],
      },
    },
  },
  {
    claim: 'Each metric of the database has its own figure, by the vendor’s domain, with times in seconds',
    test: eachFigure,
    changes: {
      [definitions]: {
        'what waits to be tried again is what is put off': [
          'waiting.set(backlog.retryRows)',
          'waiting.set(backlog.deferredRows)',
        ],
        'what is held back is not told': [
          'suspendedRows.set(backlog.suspendedRows)',
          'suspendedRows.set(0 * backlog.suspendedRows)',
        ],
        'the oldest event is told in milliseconds': [
          'Math.max(0, totals.nowMs - webhook.oldestAtMs) / 1000',
          'Math.max(0, totals.nowMs - webhook.oldestAtMs)',
        ],
        'a schedule is late as long as a broadcast': [
          'lateness.scheduleMs / 1000',
          'lateness.broadcastMs / 1000',
        ],
        'a schedule is late in milliseconds': ['lateness.scheduleMs / 1000', 'lateness.scheduleMs'],
        'refused keys are counted by host': [
          'suspended.inc({ origin: names.admit(pushServiceName(origin)) }',
          'suspended.inc({ origin: names.admit(new URL(origin).host) }',
        ],
        'held deletions are counted by host': [
          'deletions.inc({ origin: names.admit(pushServiceName(origin)) }',
          'deletions.inc({ origin: names.admit(new URL(origin).host) }',
        ],
        'a key that is accepted counts as refused': ['Number(isSuspended)', '1'],
        'senders of single messages are left out': [
          "of ['worker', 'single'] as const",
          "of ['worker'] as const",
        ],
        'one outcome is left out': [
          'for (const outcome of settlements)',
          'for (const outcome of settlements.slice(1))',
        ],
        'alarms of broadcasts are counted once': [
          'alarms.set({ reason }, count)',
          'alarms.set({ reason }, Math.min(count, 1))',
        ],
      },
    },
  },
  {
    claim: 'What is late is the longest broadcast, and the longest schedule',
    test: eachFigure,
    changes: {
      'src/delivery/alarms/work-conditions.ts': {
        'it is the shortest': ['Math.min(...due.map', 'Math.max(...due.map'],
      },
    },
  },
  {
    claim:
      'Pending rows are those of running broadcasts whose time has come, and alarms of paused ones count too',
    test: {
      file: 'test/store/statistics-suite.ts',
      title: 'the backlog is what running broadcasts have left',
    },
    changes: {
      [statistics]: {
        'those of scheduled ones count': [
          "b.state = 'running' and b.start_at_ms <= :nowMs",
          "b.state = 'running' and :nowMs > 0",
        ],
        'those of paused ones count': [
          "where b.state = 'running' and b.start_at_ms",
          "where b.state in ('running', 'paused') and b.start_at_ms",
        ],
        'alarms of paused ones do not': [
          "where b.state in ('running', 'paused') group",
          "where b.state = 'running' group",
        ],
      },
    },
  },
  {
    claim: 'Webhook events that wait, the oldest of them, and those that were given up are counted',
    test: { file: 'test/store/webhook-outbox-suite.ts', title: 'what is three days old is dropped' },
    changes: {
      'src/store/webhook-outbox.ts': {
        'the newest is told': ['min(at_ms) as oldest', 'max(at_ms) as oldest'],
        'many that are given up count as one': [
          'set dropped = dropped + :count',
          'set dropped = :count / :count',
        ],
      },
    },
  },
  {
    claim: 'Rows that are held back for a refused token or key are counted',
    test: { file: 'test/store/push-services-suite.ts', title: 'rows that are held back are counted' },
    changes: {
      [statistics]: {
        'they are not': ['(where w.push_service_id > 0)', '(where w.push_service_id > 0 and 1 = 0)'],
      },
    },
  },
  {
    claim: 'A breaker that is half-open counts as open, and buckets of durations add up',
    test: { file: metricsTest, title: 'breakers are those of all senders' },
    changes: {
      [definitions]: {
        'it counts as closed': ["Number(state !== 'closed')", "Number(state === 'open')"],
        'each bucket has its own alone': ['count += inBucket;', 'count = inBucket;'],
      },
    },
  },
  {
    claim: 'Registrations are counted by the status of their answer: stored, refused, limited, failed',
    test: { file: metricsTest, title: 'registrations are counted by the status' },
    changes: {
      'src/cli/serve/count-registrations.ts': {
        'too many count as refused': ["if (status === 429) return 'limited';", ''],
        'a 500 counts as refused': ['status >= 500', 'status > 500'],
        'other methods count': ["method === 'POST' && ", ''],
        'a prefix is forgotten': ['`${prefix}/webPush`', "'/webPush'"],
      },
    },
  },
  {
    claim: 'A worker has metrics of what it has delivered, and no limit of subscriptions',
    test: { file: processes, title: 'a worker has metrics of its own' },
    changes: {
      'src/cli/commands/worker.ts': {
        'nothing is measured': ['onFigures: metrics?.recordFigures,', 'onFigures: undefined,'],
        'it has no option for a certificate': [", 'metrics', ...accessSettings]", ", 'metrics']"],
        'it has the limit': ['{ ...configuration, maxSubscriptions: undefined }', 'configuration'],
      },
    },
  },
  {
    claim: '`serve --deliver` has metrics of what it has delivered, and the limit of subscriptions',
    test: { file: processes, title: 'serve counts registrations' },
    changes: {
      'src/cli/commands/serve.ts': {
        'nothing is measured': ['const onFigures = metrics?.recordFigures;', 'const onFigures = undefined;'],
      },
    },
  },
  {
    claim:
      'Of a machine, what does not apply is absent: the limit, the certificate, and the last backup with PostgreSQL',
    test: { file: metricsTest, title: 'metrics to page on' },
    changes: {
      'src/cli/serve/machine-figures.ts': {
        'PostgreSQL has a last backup': [
          'database === undefined ? (backedUpAtMs ?? 0) : undefined',
          'backedUpAtMs ?? 0',
        ],
        'where no backup was made it is absent': ['(backedUpAtMs ?? 0)', 'backedUpAtMs'],
      },
      [definitions]: {
        'the certificate ends in milliseconds': [
          'certificateEndsAtMs && certificateEndsAtMs / 1000',
          'certificateEndsAtMs',
        ],
        'what is absent is 0': [
          'if (value !== undefined) metric.set({ machine }, value);',
          'metric.set({ machine }, value ?? 0);',
        ],
      },
    },
  },
  {
    claim: 'There are at most fifty names of push services, and `other` for the rest',
    test: { file: metricsTest, title: 'strangers cannot multiply label values' },
    changes: {
      'src/operator/metrics/bounded-names.ts': {
        'there are more': ['const maxNames = 50;', 'const maxNames = 51;'],
        'the rest is left out': ["return 'other';", "return '';"],
      },
    },
  },
];
