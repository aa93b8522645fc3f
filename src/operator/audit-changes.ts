// The audit of changes: each route with an unsafe method says what it does, and each of its requests leaves a record, before
// the change and completed with the status of the answer. A route that says nothing cannot be added.
import type { FastifyInstance, FastifyRequest } from 'fastify';

import type { AuditStore } from '../store/audit.ts';
import { isSafe } from './authorize.ts';

export interface AuditedAction {
  /** Such as `broadcast.pause`. */
  readonly action: string;
  /** What is changed, such as `broadcast 7`, as far as that is known beforehand. */
  target?(request: FastifyRequest): string | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request has changed, for the audit: set by a handler that makes something new. */
    auditTarget: string | undefined;
    /** Of the record of this request. */
    auditId: number | undefined;
  }
  interface FastifyContextConfig {
    /** Annotation of a route with an unsafe method; `'none'` where it changes nothing that is stored. */
    audit?: AuditedAction | 'none' | undefined;
  }
}

/** To be called before any route is added to the listener. */
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
    // An answer that cannot be sent is replaced by an error, which comes here again.
    request.auditId = undefined;
    await audit.finish(id, { status: reply.statusCode, target });
  });
}
