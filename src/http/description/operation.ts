// A route's description for the OpenAPI document: what it does, and its responses.
import type { RouteOptions } from 'fastify';
import type { ErrorCode, ServiceErrorEntry } from '../../errors/catalogue.ts';
import { DeskbellError, type FieldError } from '../../errors/deskbell-error.ts';
import { type AnsweredErrors, problemType, toProblem } from '../problem.ts';
import { Optional, type Schema, Type } from '../schema.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Annotation of a route for the description document; a route without it is not described. */
    operation?: Operation;
  }
}

export interface Operation {
  /** Unique, in camel case, starting with a verb. Generated clients use it as the operation's name. */
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string | undefined;
  readonly headers?:
    | Readonly<Record<string, { readonly description: string; readonly schema: object }>>
    | undefined;
  readonly responses: Responses;
  /** Errors that this route may return besides the errors of every route and of every route with a body. */
  readonly errors?: readonly ErrorCode[] | undefined;
  /** Security Requirement Objects. One of them must be met. Default: none. */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[] | undefined;
}

/** Adds errors and security to the annotation of a route, if the route has an annotation. */
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

// Describes a route's responses: one entry per status, each with an example; errors come from the catalogue.

export interface ResponseDescription {
  readonly description: string;
  readonly headers?: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, { schema: object; example?: unknown; examples?: object }>>;
}

export type Responses = Readonly<Record<number, ResponseDescription>>;

const problemSchema = Type.Named(
  'Problem',
  {
    type: Type.String({ format: 'uri' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    code: Type.String({ description: 'Stable; says which error it is.' }),
    errors: Optional.Array(
      Type.Named('FieldError', {
        pointer: Type.String({
          description: 'JSON Pointer of the field; empty for the whole value.',
        }),
        code: Type.String(),
        detail: Type.String({ description: 'The field, its fault, and what to give instead.' }),
      }),
      { description: 'Every field that is wrong.' },
    ),
    vapidPublicKey: Optional.String({
      description: 'With ERR_VAPID_KEY_UNKNOWN: the current key, to subscribe with.',
    }),
    items: Optional.Array(Type.AnyObject(), {
      description:
        'With ERR_MESSAGE_RETRY: what came of the message, one for each subscription, as in a success.',
    }),
  },
  { description: 'An RFC 9457 problem.' },
);

export function contentResponse(
  contentType: string,
  description: string,
  schema: Schema,
  example: unknown,
  headers: Readonly<Record<string, object>> = {},
): ResponseDescription {
  return {
    description,
    headers,
    content: { [contentType]: { schema, example } },
  };
}

const everywhere = [
  'ERR_REQUEST_INVALID',
  'ERR_REQUEST_TIMEOUT',
  'ERR_HEADERS_TOO_LARGE',
  'ERR_INTERNAL',
] as const satisfies readonly ErrorCode[];

export const bodyErrors = [
  'ERR_JSON_MALFORMED',
  'ERR_BODY_TOO_LARGE',
  'ERR_CONTENT_TYPE',
  'ERR_BODY_CONSUMED',
] as const satisfies readonly ErrorCode[];

export function describeProblems(codes: readonly ErrorCode[], errors: AnsweredErrors): Responses {
  const entries = Array.from(new Set([...codes, ...everywhere]), (code) => {
    const entry = errors[code];
    if (entry === undefined) throw new Error(`${code} is not answered here.`);
    return { ...entry, code };
  });
  const byStatus = Map.groupBy(entries, ({ status }) => status);
  return Object.fromEntries(
    [...byStatus].map(([status, sameStatus]) => [status, describeProblem(sameStatus, errors)]),
  );
}

/** Errors whose responses may have the header Retry-After. */
const withRetryAfter = new Set<ErrorCode>(['ERR_RATE_LIMITED', 'ERR_MESSAGE_RETRY']);

function describeProblem(
  entries: readonly (ServiceErrorEntry & { readonly code: ErrorCode })[],
  errors: AnsweredErrors,
): ResponseDescription {
  const retryAfter = { 'Retry-After': { schema: { type: 'string', pattern: '^[0-9]+$' } } };
  return {
    description: entries.map(({ code, title }) => `${code}: ${title}.`).join(' '),
    headers: entries.some(({ code }) => withRetryAfter.has(code)) ? retryAfter : {},
    content: {
      [problemType]: {
        schema: problemSchema,
        examples: Object.fromEntries(
          entries.map(({ code, title, remedy }) => [
            code,
            { summary: remedy, value: exampleProblem(code, title, errors) },
          ]),
        ),
      },
    },
  };
}

const exampleFields: Partial<Record<ErrorCode, FieldError>> = {
  ERR_SUBSCRIPTION_INVALID: {
    pointer: '/auth',
    code: 'ERR_BASE64_INVALID',
    detail: 'auth is not base64 (standard or URL-safe, padded or not).',
  },
  ERR_USER_ID_INVALID: {
    pointer: '/user_id',
    code: 'ERR_USER_ID_INVALID',
    detail: 'The user id is not a decimal int64.',
  },
};

function exampleProblem(code: ErrorCode, title: string, errors: AnsweredErrors): object {
  const field = exampleFields[code];
  const fields = field ? [field] : [];
  return toProblem(new DeskbellError(code, field?.detail ?? `${title}.`, { fields }), errors);
}
