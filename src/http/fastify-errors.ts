// Converts errors of Fastify and of routes.
import type { FastifyRequest } from 'fastify';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { type ServiceErrorCode, serviceErrors } from '../errors/catalogue.ts';

const invalid: ReadonlyMap<unknown, string> = new Map([
  ['FST_ERR_CTP_INVALID_CONTENT_LENGTH', 'The body is not as long as its content-length says.'],
  ['ECONNRESET', 'The request ended before its body was complete.'],
]);

/** Statuses with which applications refuse, as in `http-errors` and Fastify's plug-ins. */
const refusals: ReadonlyMap<number, ServiceErrorCode> = new Map([
  [401, 'ERR_UNAUTHENTICATED'],
  [403, 'ERR_FORBIDDEN'],
  [429, 'ERR_RATE_LIMITED'],
]);

const contentTypes = ['application/json', 'text/plain', 'application/x-www-form-urlencoded'];

interface ThrownError {
  readonly code?: unknown;
  readonly statusCode?: unknown;
  readonly message?: unknown;
  /** The message is for clients (`http-errors`). */
  readonly expose?: unknown;
}

export function toFault(error: unknown, { routeOptions, server }: FastifyRequest): DeskbellError {
  if (error instanceof DeskbellError) return error;
  const { code, statusCode, message, expose } = Object(error) as ThrownError;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const detail = `The body is larger than the ${routeOptions.bodyLimit} bytes that are read.`;
    return new DeskbellError('ERR_BODY_TOO_LARGE', detail, { cause: error });
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    const types = contentTypes.filter((type) => server.hasContentTypeParser(type)).join(' or ');
    return new DeskbellError('ERR_CONTENT_TYPE', `The body must have content-type: ${types}.`, {
      cause: error,
    });
  }
  const fault = invalid.get(code);
  if (fault !== undefined) return new DeskbellError('ERR_REQUEST_INVALID', fault, { cause: error });
  const status = typeof statusCode === 'number' ? statusCode : 500;
  const isRefusal = status >= 400 && status < 500;
  const fallback = refusals.get(status) ?? (isRefusal ? 'ERR_REQUEST_INVALID' : 'ERR_INTERNAL');
  const detail =
    isRefusal && expose === true && typeof message === 'string' ? message : serviceErrors[fallback].title;
  return new DeskbellError(fallback, detail, { cause: error });
}
