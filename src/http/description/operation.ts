import type { RouteOptions } from 'fastify';

import type { ErrorCode } from '../../errors/catalogue.ts';
import type { Responses } from './openapi-responses.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Annotation of a route for the description document; a route without it is not described. */
    operation?: Operation;
  }
}

export interface Operation {
  /** Unique, in camel case, a verb first: names the operation in generated clients. */
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string | undefined;
  readonly headers?:
    | Readonly<Record<string, { readonly description: string; readonly schema: object }>>
    | undefined;
  readonly responses: Responses;
  /** Errors besides those of every request, or of every request with a body. */
  readonly errors?: readonly ErrorCode[] | undefined;
  /** Security Requirement Objects, of which one must be met. Default: none. */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[] | undefined;
}

/** Adds errors and security to a route's annotation, if it has one. */
export function amendOperation(
  route: RouteOptions,
  { errors, security }: { readonly [Name in 'errors' | 'security']: NonNullable<Operation[Name]> },
): void {
  const operation = route.config?.operation;
  if (operation === undefined) return;
  const alternatives = [...(operation.security ?? []), ...security];
  const amended = {
    ...operation,
    errors: [...(operation.errors ?? []), ...errors],
    security: [...new Map(alternatives.map((one) => [JSON.stringify(one), one])).values()],
  };
  route.config = { ...route.config, operation: amended };
}
