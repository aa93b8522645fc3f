// Audits changes. A route with an unsafe method cannot be added unless it declares what it changes. Each request leaves
// a record, which is written before the change and completed with the status of the response.
import type { FastifyInstance, FastifyRequest } from 'fastify';

import type { AuditStore } from '../store/operators.ts';
import { isSafe } from './authorize.ts';

export interface AuditedAction {
  /** The name of the action, such as `broadcast.pause`. */
  readonly action: string;
  /** What changes, such as `broadcast 7`, if that is known before the request is handled. */
  target?(request: FastifyRequest): string | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request changed, for the audit record. A handler that creates something sets this. */
    auditTarget: string | undefined;
    auditId: number | undefined;
  }
  interface FastifyContextConfig {
    /** Annotation of a route with an unsafe method. It is `'none'` if the route changes nothing in the store. */
    audit?: AuditedAction | 'none' | undefined;
  }
}

/** Call this before any route is added. */
export function auditChanges(app: FastifyInstance, audit: AuditStore): void {
  app.decorateRequest('auditTarget');
  app.decorateRequest('auditId');

  app.addHook('onRoute', ({ method, url, config }) => {
    const methods = typeof method === 'string' ? [method] : method;
    if (methods.every(isSafe) || config?.audit !== undefined) return;
    throw new Error(`The route ${methods.join(', ')} ${url} does not say what it changes.`);
  });

  app.addHook('preHandler', async (request) => {
    const { audit: audited } = request.routeOptions.config;
    if (audited === undefined || audited === 'none') return;
    const operator = request.operator?.name ?? '';
    const target = audited.target?.(request);
    request.auditId = await audit.begin({ operator, action: audited.action, target });
  });

  app.addHook('onSend', async (request, reply) => {
    const { auditId: id, auditTarget: target } = request;
    if (id === undefined) return;
    // If a response cannot be sent, Fastify sends an error instead, and runs this hook again.
    request.auditId = undefined;
    await audit.finish(id, { status: reply.statusCode, target });
  });
}
