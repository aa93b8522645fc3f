// /metrics: who may read it, that it counts what was sent, and that Prometheus' own tool takes it and the rules over it.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import Fastify from 'fastify';
import { promtool, skipWithout } from '../../scripts/install-test-tools.ts';
import { countRegistrations } from '../../src/cli/commands/serve.ts';
import { machineFiguresReader, openMetricsListener } from '../../src/cli/serve/open-operator.ts';
import { noteBackup } from '../../src/cli/data/noted-facts.ts';
import { makeCertificate } from '../../src/push-service/http/certificate.ts';
import type { DeliveryFigures } from '../../src/delivery/reports/figures.ts';
import type { SenderOptions } from '../../src/delivery/sender.ts';
import { createMetricsListener } from '../../src/operator/create-operator.ts';
import { createMetrics } from '../../src/operator/metrics/metrics.ts';
import { operatorRoles } from '../../src/store/operators.ts';
import { madeUpSubscription } from '../store/made-up-subscription.ts';
import { recordAnswer } from '../store/store-under-test.ts';
import { optionsOf, startOperator, startStage, type RunningOperator } from './running-operator.ts';

const monitoring = join(import.meta.dirname, '../../packaging/monitoring');
const skip = skipWithout('the tests of metrics', [promtool]);

/** The values of a text by name and labels. */
const valuesOf = (metrics: string): ReadonlyMap<string, number> =>
  new Map(
    metrics
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );

async function read({ base, add }: RunningOperator, accept = '*/*'): Promise<{ type: string; body: string }> {
  const token = await add(`prometheus-${Math.random()}`, 'metrics');
  const response = await fetch(`${base}/metrics`, { headers: { authorization: `Bearer ${token}`, accept } });
  assert.equal(response.status, 200);
  return { type: response.headers.get('content-type')!, body: await response.text() };
}

const noDurations = { counts: Array.from({ length: 13 }, () => 0), sumSeconds: 0 };
const figures = (changes: Partial<DeliveryFigures>): DeliveryFigures => ({
  answers: [],
  commits: noDurations,
  leasesLost: 0,
  ...changes,
});

test('what a sender has measured of a broadcast is shown, and what Node knows of the process', async (t) => {
  const told: DeliveryFigures[] = [];
  const senderOptions: Partial<SenderOptions> = { onFigures: (each) => told.push(each) };
  const { store, sender, pushService } = await startStage(t, [{}, {}, {}], { senderOptions });
  await (
    await sender.broadcast('all', { title: 't', message: 'm' })
  ).finished;

  const metrics = createMetrics(store);
  for (const each of told) metrics.recordFigures(each);
  const values = valuesOf((await metrics.render(undefined)).text);
  const origin = new URL(pushService.origin).host;
  assert.equal(values.get(`deskbell_push_request_duration_seconds_count{origin="${origin}"}`), 3);
  assert.ok(values.get('deskbell_commit_duration_seconds_count')! > 0);
  assert.ok(values.has('process_cpu_seconds_total'));
  assert.ok(values.has('nodejs_eventloop_lag_p99_seconds'));
});

test('registrations are counted by the status of their answer, and nothing else is', async (t) => {
  const app = Fastify();
  t.after(() => app.close());
  const counted: string[] = [];
  countRegistrations(app, '/push', { recordRegistration: (result) => counted.push(result) });
  for (const url of ['/push/webPush', '/push/receipts', '/webPush'])
    app.all<{ Querystring: { status?: number } }>(url, ({ query: { status = 200 } }, reply) =>
      reply.code(status).send(),
    );
  const ask = (url: string, method: 'GET' | 'POST' = 'POST') => app.inject({ url, method });
  for (const status of [200, 400, 401, 403, 409, 429, 500, 503]) await ask(`/push/webPush?status=${status}`);
  for (const url of ['/push/receipts', '/webPush', '/nowhere']) await ask(url);
  await ask('/push/webPush', 'GET');
  const refused = ['refused', 'refused', 'refused', 'refused'];
  assert.deepEqual(counted, ['stored', ...refused, 'limited', 'failed', 'failed']);
});

test('strangers cannot multiply label values', async (t) => {
  const { store } = await startOperator(t);
  const metrics = createMetrics(store);
  for (let index = 0; index < 200; index += 1) {
    const origin = `https://push-${index}.example.org`;
    await recordAnswer(store, { ...madeUpSubscription(1), endpoint: `${origin}/1` }, 'accepted', origin);
    const pushService = new URL(origin).host;
    metrics.recordFigures(figures({ answers: [{ pushService, ...noDurations }] }));
  }
  const values = valuesOf((await metrics.render(undefined)).text);
  const named = (start: string) => [...values].filter(([name]) => name.startsWith(start));
  const attempts = named('deskbell_attempts_total');
  assert.equal(attempts.length, 51);
  assert.equal(
    attempts.reduce((sum, [, value]) => sum + value, 0),
    200,
  );
  assert.equal(values.get('deskbell_attempts_total{origin="other"}'), 150);
  assert.equal(named('deskbell_push_request_duration_seconds_count').length, 51);

  // known and listed push services have their labels, whoever came first
  const own = 'https://up.example.net';
  for (const [number, origin] of ['https://web.push.apple.com', own].entries())
    await recordAnswer(
      store,
      { ...madeUpSubscription(2 + number), endpoint: `${origin}/1` },
      'accepted',
      origin,
    );
  const ofPublic = createMetrics(store, { pushServices: ['public', own] });
  const labels = [...valuesOf((await ofPublic.render(undefined)).text).keys()]
    .filter((name) => name.startsWith('deskbell_attempts_total'))
    .toSorted();
  assert.deepEqual(labels, [
    'deskbell_attempts_total{origin="other"}',
    'deskbell_attempts_total{origin="push.apple.com"}',
    'deskbell_attempts_total{origin="up.example.net"}',
  ]);
});

test('OpenMetrics is for who accepts it; both are read with a token for metrics', async (t) => {
  const operator = await startOperator(t);
  const plain = await read(operator);
  assert.equal(plain.type, 'text/plain; version=0.0.4; charset=utf-8');
  const open = await read(operator, 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5');
  assert.equal(open.type, 'application/openmetrics-text; version=1.0.0; charset=utf-8');
  assert.match(open.body, /# EOF\n$/);
  assert.deepEqual(
    [...valuesOf(open.body).keys()].filter((name) => name.startsWith('deskbell_')),
    [...valuesOf((await read(operator)).body).keys()].filter((name) => name.startsWith('deskbell_')),
  );
  assert.equal((await fetch(`${operator.base}/metrics`)).status, 401);
  for (const role of operatorRoles) {
    const headers = { authorization: `Bearer ${await operator.add(`${role}-token`, role)}` };
    const { status } = await fetch(`${operator.base}/metrics`, { headers });
    assert.equal(status, role === 'send' ? 403 : 200, role);
  }
});

test('a listener for metrics has nothing else, and asks for a token too', async (t) => {
  const { store, sender, add } = await startOperator(t);
  const parts = optionsOf(store, sender);
  const where = { host: '127.0.0.1', port: 0 };
  assert.throws(() => createMetricsListener({ ...parts, host: '0.0.0.0' }), { code: 'ERR_CONFIGURATION' });
  const app = createMetricsListener(parts);
  t.after(() => app.close());
  const base = await app.listen(where);
  assert.equal((await fetch(`${base}/metrics`)).status, 401);
  const headers = { authorization: `Bearer ${await add('prometheus', 'metrics')}` };
  assert.equal((await fetch(`${base}/metrics`, { headers })).status, 200);
  for (const path of ['/', '/v1/keys', '/openapi.json', '/console']) {
    assert.equal((await fetch(base + path, { headers })).status, 404, path);
  }

  const tls = makeCertificate(['127.0.0.1']);
  const encrypted = await openMetricsListener({ ...where, tls }, parts);
  t.after(() => encrypted.close());
  assert.match(encrypted.address, /^https:/);
  const asked = get(`${encrypted.address}/metrics`, { ca: tls.cert, headers });
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  assert.equal(response.resume().statusCode, 200);
});

test('Prometheus takes the text, and knows nothing to improve', { skip }, async (t) => {
  const { store } = await startOperator(t);
  const metrics = createMetrics(store);
  metrics.recordFigures(figures({ answers: [{ pushService: 'fcm.googleapis.com', ...noDurations }] }));
  const { text: rendered } = await metrics.render(undefined);
  const own = rendered.split('\n').filter((line) => /^(# \w+ )?deskbell_/.test(line));
  const child = spawn('promtool', ['check', 'metrics']);
  child.stdin.end(`${own.join('\n')}\n`);
  const [complaints, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  assert.equal(complaints, '');
  assert.equal(code, 0);
});

test(
  'scrape configuration, rules and dashboard are valid, and ask for metrics that there are',
  { skip },
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'deskbell-rules-'));
    t.after(() => rm(folder, { recursive: true }));
    const alerts = join(monitoring, 'alerts.yml');
    await promisify(execFile)('promtool', ['check', 'rules', alerts]);
    const scraping = join(monitoring, 'prometheus.yml');
    await promisify(execFile)('promtool', ['check', 'config', '--syntax-only', scraping]);

    const dashboard = JSON.parse(await readFile(join(monitoring, 'grafana-dashboard.json'), 'utf8')) as {
      readonly panels: readonly {
        readonly title: string;
        readonly description?: string;
        readonly targets: readonly { readonly expr: string }[];
      }[];
    };
    assert.deepEqual(
      dashboard.panels.filter(({ description = '' }) => description === '').map(({ title }) => title),
      [],
      'each panel says what it shows',
    );
    const expressions = dashboard.panels
      .flatMap(({ targets }) => targets.map(({ expr }) => expr))
      .map((expr) => expr.replaceAll('$__rate_interval', '1m'));
    const rules = expressions.map((expr, index) => ({ record: `panel:${index}`, expr }));
    const panels = join(folder, 'panels.yml');
    // JSON is YAML.
    await writeFile(panels, JSON.stringify({ groups: [{ name: 'panels', rules }] }));
    await promisify(execFile)('promtool', ['check', 'rules', panels]);

    const { store } = await startOperator(t);
    const { text: rendered } = await createMetrics(store).render(undefined);
    const known = new Set(Array.from(rendered.matchAll(/^# TYPE (\w+)/gm), ([, name]) => name));
    const used = new Set(
      Array.from(
        `${await readFile(alerts, 'utf8')} ${expressions.join(' ')}`.matchAll(
          /\b(?:deskbell|process|nodejs)_\w+/g,
        ),
        ([name]) => name.replace(/_bucket$/, ''),
      ),
    );
    assert.deepEqual(
      [...used].filter((name) => !known.has(name)),
      [],
    );
  },
);

const ofMachine = (values: ReadonlyMap<string, number>, name: string) =>
  values.get(`deskbell_${name}{machine="${hostname()}"}`);

test('metrics of the machine: disk, backup, limit and certificate', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'deskbell-machine-'));
  t.after(() => rm(data, { recursive: true }));
  const { store } = await startOperator(t);
  const configuration = { data, database: undefined, maxSubscriptions: 50 };
  const { cert } = makeCertificate(['127.0.0.1']);
  const metrics = createMetrics(store, { readMachine: machineFiguresReader(configuration, cert) });
  const scrape = async () => valuesOf((await metrics.render(undefined)).text);

  const before = await scrape();
  assert.equal(ofMachine(before, 'last_backup_timestamp_seconds'), 0, 'none was made');
  const noWorker = 'deskbell_alarms{kind="no-worker",rank="urgent",acknowledged="false"}';
  assert.equal(before.get(noWorker), 0, 'a series that begins before its first alarm');
  assert.ok(ofMachine(before, 'disk_free_bytes')! < ofMachine(before, 'disk_size_bytes')!);
  assert.equal(ofMachine(before, 'subscription_limit'), 50);
  const { blocks, bsize } = await statfs(data);
  assert.equal(ofMachine(before, 'disk_size_bytes'), blocks * bsize);
  const endsAtMs = new X509Certificate(cert).validToDate.getTime();
  assert.equal(ofMachine(before, 'certificate_expiry_timestamp_seconds'), endsAtMs / 1000);

  // of PostgreSQL, without a limit and without a certificate
  const elsewhere = { data, database: 'postgres://db.example.org/push', maxSubscriptions: undefined };
  const readMachine = machineFiguresReader(elsewhere, undefined);
  const { text: withoutThem } = await createMetrics(store, { readMachine }).render(undefined);
  const named = Array.from(withoutThem.matchAll(/^deskbell_(\w+)\{machine=/gm), ([, name]) => name);
  assert.deepEqual(named.toSorted(), ['disk_free_bytes', 'disk_size_bytes']);

  await noteBackup(data, Date.now());
  const after = await scrape();
  assert.ok(Date.now() / 1000 - ofMachine(after, 'last_backup_timestamp_seconds')! < 60);
});

/** Forty minutes in which a broadcast is pending, as `promtool test rules` takes them. */
const scenario = (attempts: readonly object[], alerts: readonly object[]) => ({
  interval: '1m',
  input_series: [{ series: 'deskbell_broadcast_sendable_rows', values: '100x60' }, ...attempts],
  alert_rule_test: [{ eval_time: '40m', alertname: 'DeskbellBroadcastStalled', exp_alerts: alerts }],
});

test(
  'a broadcast that nobody delivers raises an alert, one that is delivered does not',
  { skip },
  async (t) => {
    const labels = 'origin="fcm.googleapis.com"';
    const series = `deskbell_attempts_total{${labels}}`;
    const stalled = {
      exp_labels: { severity: 'critical' },
      exp_annotations: {
        summary: 'Messages can be sent now, and nothing was sent for 15 minutes.',
        action:
          'See that a worker runs (`deskbell worker`, `serve --deliver`), and what `deskbell alarms list` says.',
      },
    };
    await testAlerts(t, {
      tests: [
        scenario([], [stalled]),
        scenario([{ series, values: '100x60' }], [stalled]),
        scenario([{ series, values: '0+100x60' }], []),
      ],
    });
  },
);

test('each alert is raised by what it is about, and by nothing less', { skip }, async (t) => {
  const dayS = 86_400;
  const here = '{machine="push-1"}';
  // promtool's time begins at 0
  const ofOneSeries = [
    ['DeskbellBroadcastLate', '10m', 'deskbell_broadcast_late_seconds', '301x60', '299x60'],
    ['DeskbellScheduleLate', '10m', 'deskbell_schedule_late_seconds', '121x60', '60x60'],
    [
      'DeskbellRegistrationsStopped',
      '10h',
      'deskbell_registrations_total{result="stored"}',
      '0+1x300 300x600',
      '0+1x900',
    ],
    ['DeskbellWebhookBehind', '10m', 'deskbell_webhook_oldest_event_seconds', '3601x60', '3599x60'],
    ['DeskbellWebhookDropped', '30m', 'deskbell_webhook_dropped_total', '0x10 1x60', '1x60'],
    [
      'DeskbellBackupOld',
      '49h',
      `deskbell_last_backup_timestamp_seconds${here}`,
      '0x5000',
      `${2 * dayS}x5000`,
    ],
    [
      'DeskbellCertificateExpires',
      '10m',
      `deskbell_certificate_expiry_timestamp_seconds${here}`,
      `${13 * dayS}x60`,
      `${15 * dayS}x60`,
    ],
    ['DeskbellPushServiceHeld', '10m', 'deskbell_push_service_held{origin="a"}', '1x60', '0x60'],
    ['DeskbellBreakerOpen', '20m', 'deskbell_breaker_open{origin="a"}', '1x60', '0x60'],
    ['DeskbellDeletionsHeld', '10m', 'deskbell_held_deletions{origin="a"}', '1x60', '0x60'],
    ['DeskbellLeasesLost', '30m', 'deskbell_lease_lost_total{instance="a"}', '0x10 1x60', '1x60'],
  ] as const;
  const cases: Readonly<
    Record<string, { readonly at: string; readonly bad: Series; readonly good: Series }>
  > = {
    ...Object.fromEntries(
      ofOneSeries.map(([alert, at, series, bad, good]) => [
        alert,
        { at, bad: { [series]: bad }, good: { [series]: good } },
      ]),
    ),
    DeskbellNoWorker: {
      at: '10m',
      bad: { 'deskbell_alarms{kind="no-worker",acknowledged="false"}': '1x60' },
      good: {
        'deskbell_alarms{kind="no-worker",acknowledged="false"}': '0x60',
        'deskbell_alarms{kind="no-worker",acknowledged="true"}': '1x60',
      },
    },
    DeskbellGone: {
      at: '100m',
      bad: {
        'deskbell_messages_total{origin="a",outcome="gone"}': '0+10x120',
        'deskbell_attempts_total{origin="a"}': '0+40x120',
      },
      good: {
        'deskbell_messages_total{origin="a",outcome="gone"}': '0+10x120',
        'deskbell_attempts_total{origin="a"}': '0+60x120',
      },
    },
    DeskbellDiskFull: {
      at: '30m',
      bad: { [`deskbell_disk_free_bytes${here}`]: '9x60', [`deskbell_disk_size_bytes${here}`]: '100x60' },
      good: { [`deskbell_disk_free_bytes${here}`]: '2e9x60', [`deskbell_disk_size_bytes${here}`]: '9e9x60' },
    },
    DeskbellSubscriptionLimit: {
      at: '10m',
      bad: { deskbell_subscriptions: '91x60', [`deskbell_subscription_limit${here}`]: '100x60' },
      good: { deskbell_subscriptions: '91x60' },
    },
    DeskbellAlarms: {
      at: '10m',
      bad: { 'deskbell_alarms{kind="all-gone",rank="soon",acknowledged="false"}': '1x60' },
      good: {
        'deskbell_alarms{kind="all-gone",rank="soon",acknowledged="true"}': '1x60',
        'deskbell_alarms{kind="bad-ttl",rank="note",acknowledged="false"}': '1x60',
      },
    },
    DeskbellDown: {
      at: '10m',
      bad: { 'up{job="deskbell"}': '0x60' },
      good: { 'up{job="deskbell"}': '1x60', 'up{job="another"}': '0x60' },
    },
    DeskbellRejections: {
      at: '100m',
      bad: {
        'deskbell_messages_total{origin="a",outcome="rejected"}': '0+6x120',
        'deskbell_attempts_total{origin="a"}': '0+100x120',
      },
      good: {
        'deskbell_messages_total{origin="a",outcome="rejected"}': '0+4x120',
        'deskbell_messages_total{origin="a",outcome="gone"}': '0+6x120',
        'deskbell_attempts_total{origin="a"}': '0+100x120',
      },
    },
    DeskbellSlowCommits: {
      at: '60m',
      bad: {
        'deskbell_commit_duration_seconds_bucket{le="1"}': '0+98x100',
        'deskbell_commit_duration_seconds_bucket{le="2.5"}': '0+100x100',
        'deskbell_commit_duration_seconds_bucket{le="+Inf"}': '0+100x100',
      },
      good: {
        'deskbell_commit_duration_seconds_bucket{le="1"}': '0+995x100',
        'deskbell_commit_duration_seconds_bucket{le="2.5"}': '0+1000x100',
        'deskbell_commit_duration_seconds_bucket{le="+Inf"}': '0+1000x100',
      },
    },
    DeskbellRegistrationsFail: {
      at: '30m',
      bad: { 'deskbell_registrations_total{result="failed"}': '0x25 1x60' },
      good: {
        'deskbell_registrations_total{result="failed"}': '1x60',
        'deskbell_registrations_total{result="refused"}': '0x25 1x60',
      },
    },
  };
  const alerts = await readFile(join(monitoring, 'alerts.yml'), 'utf8');
  const names = Array.from(alerts.matchAll(/- alert: (\w+)/g), ([, name]) => name);
  // that one has a test of its own
  assert.deepEqual(names.toSorted(), ['DeskbellBroadcastStalled', ...Object.keys(cases)].toSorted());
  assert.equal(alerts.match(/^ {10}action: /gm)?.length, names.length, 'each with what to do');
  // an expression, not the texts of the alert, is compared: 1 where it fires
  const tests = Object.entries(cases).flatMap(([alertname, { at, bad, good }]) =>
    [bad, good].map((series) => ({
      interval: '1m',
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      promql_expr_test: [
        {
          expr: `count(ALERTS{alertname="${alertname}",alertstate="firing"}) > bool 0 or vector(0)`,
          eval_time: at,
          exp_samples: [{ labels: '{}', value: series === bad ? 1 : 0 }],
        },
      ],
    })),
  );
  await testAlerts(t, { evaluation_interval: '10m', tests });
});

/** Has Prometheus' own tool run tests of the alert rules. */
async function testAlerts(t: TestContext, tests: object): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-alerts-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'test.yml');
  await writeFile(file, JSON.stringify({ rule_files: [join(monitoring, 'alerts.yml')], ...tests }));
  await promisify(execFile)('promtool', ['test', 'rules', file]);
}

/** Values by series, as promtool writes them. */
type Series = Readonly<Record<string, string>>;
