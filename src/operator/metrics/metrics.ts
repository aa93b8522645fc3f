// GET /metrics for Prometheus, with a token that has the role `metrics`. Totals come from the database. Durations,
// leases and registrations are counted in this process. The disk, the certificate and the subscription limit are those
// of this machine.
import { createRequire } from 'node:module';
import type { DeliveryFigures } from '../../delivery/reports/figures.ts';
import { createWarningReader, type ReadWarnings } from '../../delivery/alarms/installation-warnings.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { contentResponse, type Operation } from '../../http/description/operation.ts';
import { type ServiceApp, Type } from '../../http/schema.ts';
import type { PushServices } from '../../protocol/endpoint-policy.ts';
import type { Store } from '../../store/store.ts';
import {
  BoundedNames,
  defineMetrics,
  type MachineFigures,
  ProcessMetrics,
  type PrometheusClient,
  readTotals,
  type RegistrationResult,
  type RenderFigures,
} from './definitions.ts';

export interface Metrics {
  /** Can be passed to a sender as its option `onFigures`. */
  recordFigures(figures: DeliveryFigures): void;
  recordRegistration(result: RegistrationResult): void;
  /**
   * @param accept header field of the request. Default: Prometheus' text format, unless this names OpenMetrics
   * @throws {DeskbellError} ERR_METRICS_PACKAGE, ERR_STORE_UNAVAILABLE
   */
  render(accept: string | undefined): Promise<{ readonly contentType: string; readonly text: string }>;
}

export interface MetricsOptions {
  /** Reads the warnings to report. Default: reads only the store's warnings. */
  readonly readWarnings?: ReadWarnings | undefined;
  /** Configured push services; each has its own label. */
  readonly pushServices?: PushServices | undefined;
  readonly readMachine?: (() => Promise<MachineFigures>) | undefined;
}

export function createMetrics(
  store: Store,
  {
    readWarnings = createWarningReader(store),
    readMachine = async () => ({}),
    pushServices,
  }: MetricsOptions = {},
): Metrics {
  const names = new BoundedNames(pushServices);
  const measured = new ProcessMetrics(names);
  const renderers = new Map<string, RenderFigures>();

  return {
    recordFigures: (figures) => measured.recordFigures(figures),
    recordRegistration: (result) => measured.recordRegistration(result),

    async render(accept = '') {
      const client = loadClient();
      const isOpenMetrics = accept.includes('application/openmetrics-text');
      const contentType = isOpenMetrics ? client.openMetricsContentType : client.prometheusContentType;
      let renderFigures = renderers.get(contentType);
      if (renderFigures === undefined) {
        renderFigures = defineMetrics(client, contentType, names);
        renderers.set(contentType, renderFigures);
      }
      const [totals, machine] = await Promise.all([readTotals(store, readWarnings), readMachine()]);
      return { contentType, text: await renderFigures({ totals, measured, machine }) };
    },
  };
}

/**
 * Loads an optional package, which most installations do not need.
 *
 * @throws {DeskbellError} ERR_METRICS_PACKAGE
 */
export function loadClient(): PrometheusClient {
  try {
    return createRequire(import.meta.url)('@prometheus-io/client') as PrometheusClient;
  } catch (cause) {
    throw new DeskbellError(
      'ERR_METRICS_PACKAGE',
      'Metrics need the package @prometheus-io/client 0.16, which is not installed.',
      { cause },
    );
  }
}

const operation: Operation = {
  operationId: 'getMetrics',
  tag: 'Installation',
  summary: 'Metrics for Prometheus',
  description:
    'OpenMetrics where the request accepts it, else Prometheus’ own text. The role `metrics` is enough.',
  responses: {
    200: contentResponse(
      'text/plain',
      'The metrics.',
      Type.String(),
      '# HELP deskbell_subscriptions Stored subscriptions.\n# TYPE deskbell_subscriptions gauge\ndeskbell_subscriptions 8214\n',
    ),
  },
  errors: ['ERR_METRICS_PACKAGE'],
  security: [{ token: [] }],
};

export function addMetricsRoute(app: ServiceApp, metrics: Metrics): void {
  app.get(
    '/metrics',
    { config: { operation, roles: ['full', 'read', 'metrics'] } },
    async ({ headers }, reply) => {
      const { contentType, text } = await metrics.render(headers.accept);
      return reply.header('content-type', contentType).send(text);
    },
  );
}
