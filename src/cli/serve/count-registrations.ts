// Registrations at the public service, for metrics: one for each answer to POST /webPush.
import type { FastifyInstance } from 'fastify';
import type { RegistrationResult } from '../../operator/metrics/process-metrics.ts';
import type { Metrics } from '../../operator/metrics/metrics.ts';

/** To be called before the service listens. */
export function countRegistrations(
  service: FastifyInstance,
  prefix: string,
  metrics: Pick<Metrics, 'recordRegistration'>,
): void {
  service.addHook('onResponse', ({ method, routeOptions }, { statusCode }, done) => {
    const isRegistration = method === 'POST' && routeOptions.url === `${prefix}/webPush`;
    if (isRegistration) metrics.recordRegistration(resultOf(statusCode));
    done();
  });
}

function resultOf(status: number): RegistrationResult {
  if (status === 200) return 'stored';
  if (status === 429) return 'limited';
  return status >= 500 ? 'failed' : 'refused';
}
