// Errors of Fastify, and whatever else a route throws, as errors of ours.
import type { FastifyRequest } from 'fastify';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { serviceErrors, type ServiceErrorCode } from '../errors/catalogue/service-errors.ts';

/** Of requests that are not valid, by the code of what was thrown. */
const invalid: ReadonlyMap<unknown, string> = new Map([
  ['FST_ERR_CTP_INVALID_CONTENT_LENGTH', 'The body is not as long as its content-length says.'],
  ['ECONNRESET', 'The request ended before its body was complete.'],
]);

/** What an application refuses with, as `http-errors` and Fastify's plug-ins do. */
const refusals: ReadonlyMap<number, ServiceErrorCode> = new Map([
  [401, 'ERR_UNAUTHENTICATED'],
  [403, 'ERR_FORBIDDEN'],
  [429, 'ERR_RATE_LIMITED'],
]);

/** What a scope may read. */
const contentTypes = ['application/json', 'text/plain', 'application/x-www-form-urlencoded'];

/** Whatever an application throws may have members of any type. */
interface ThrownError {
  readonly code?: unknown;
  readonly statusCode?: unknown;
  readonly message?: unknown;
  /** Whether the message is for clients (`http-errors`). */
  readonly expose?: unknown;
}

/** Any error as one of ours. */
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
  // a status is a number: of "403" it is not known what it was meant for
  const status = typeof statusCode === 'number' ? statusCode : 500;
  const isRefusal = status >= 400 && status < 500;
  const fallback = refusals.get(status) ?? (isRefusal ? 'ERR_REQUEST_INVALID' : 'ERR_INTERNAL');
  const detail =
    isRefusal && expose === true && typeof message === 'string' ? message : serviceErrors[fallback].title;
  return new DeskbellError(fallback, detail, { cause: error });
}
