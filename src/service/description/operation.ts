// What a route says about itself for the description document, as an annotation of the route. Parameters and the
// request body are taken from the schemas that the route validates with.
import type { RouteOptions } from 'fastify';

import type { ServiceErrorCode } from '../../errors/service-errors.ts';
import type { Responses } from './openapi-responses.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Annotation of a route: its part of the description document. A route without one is not described. */
    operation?: Operation;
  }
}

export interface Operation {
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** Request headers with a meaning of their own, by name. */
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly schema: object }>>;
  /** Responses other than errors. */
  readonly responses: Responses;
  /** Errors beside those that every request, or every request with a body, may meet. */
  readonly errors?: readonly ServiceErrorCode[];
  /** Security Requirement Objects; one of them has to be met. Default: none is needed. */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
}

/** Adds to what a route says about itself, where it says something. */
export function amendOperation(
  route: RouteOptions,
  { errors, security }: Required<Pick<Operation, 'errors' | 'security'>>,
): void {
  const operation = route.config?.operation;
  if (operation === undefined) return;
  const amended = { ...operation, errors: [...(operation.errors ?? []), ...errors], security };
  route.config = { ...route.config, operation: amended };
}

export const tags = {
  'Web Push': 'Subscribing browsers.',
  Demonstration: 'A page that subscribes a browser, and fixed answers to watch the logging mechanisms.',
  Example: 'An example user API.',
  Service: 'Health and this description.',
  Files: 'What pages load.',
} as const;

export type Tag = keyof typeof tags;
