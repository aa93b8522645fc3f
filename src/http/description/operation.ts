// What a route says about itself for the description document, as an annotation of the route. Parameters and the
// request body are taken from the schemas that the route validates with.
import type { RouteOptions } from 'fastify';

import type { ErrorCode } from '../../errors/catalogue/catalogue.ts';
import type { Responses } from './openapi-responses.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Annotation of a route: its part of the description document. A route without one is not described. */
    operation?: Operation;
  }
}

export interface Operation {
  /** What clients that are generated call it: unique, in camel case, a verb first. */
  readonly operationId: string;
  /** One of the tags of the description. */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string | undefined;
  /** Request headers with a meaning of their own, by name. */
  readonly headers?:
    | Readonly<Record<string, { readonly description: string; readonly schema: object }>>
    | undefined;
  /** Responses other than errors. */
  readonly responses: Responses;
  /** Errors beside those that every request, or every request with a body, may meet. */
  readonly errors?: readonly ErrorCode[] | undefined;
  /** Security Requirement Objects; one of them has to be met. Default: none is needed. */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[] | undefined;
}

/** Adds to what a route says about itself, where it says something. */
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
