// GET /metrics: for Prometheus, with a token of the role `metrics`.
import { contentResponse, type Operation } from '../../http/description/operation.ts';
import { type ServiceApp, Type } from '../../http/schema.ts';
import type { Metrics } from './metrics.ts';

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
