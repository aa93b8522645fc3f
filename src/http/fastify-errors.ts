// Errors of Fastify, and whatever else a route throws, as errors of ours.
import type { FastifyRequest } from 'fastify';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { serviceErrors, type ServiceErrorCode } from '../errors/catalogue/service-errors.ts';

const fastifyCodes: Readonly<Record<string, { code: ServiceErrorCode; message: string }>> = {
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'ERR_REQUEST_INVALID',
    message: 'The body is not as long as its content-length says.',
  },
  ECONNRESET: { code: 'ERR_REQUEST_INVALID', message: 'The request ended before its body was complete.' },
};

/** What an application refuses with, as `http-errors` and Fastify's plug-ins do. */
const refusals: Readonly<Record<number, ServiceErrorCode>> = {
  401: 'ERR_UNAUTHENTICATED',
  403: 'ERR_FORBIDDEN',
  429: 'ERR_RATE_LIMITED',
};

/** What a scope may read. */
const contentTypes = ['application/json', 'text/plain', 'application/x-www-form-urlencoded'];

interface ThrownError {
  readonly code?: string;
  readonly statusCode?: number;
  readonly message?: string;
  /** Whether the message is for clients (`http-errors`). */
  readonly expose?: boolean;
}

/** Any error as one of ours. */
export function toFault(error: unknown, { routeOptions, server }: FastifyRequest): DeskbellError {
  if (error instanceof DeskbellError) return error;
  const { code = '', statusCode = 500, message = '', expose } = Object(error) as ThrownError;
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
  const known = fastifyCodes[code];
  if (known) return new DeskbellError(known.code, known.message, { cause: error });
  const isRefusal = statusCode >= 400 && statusCode < 500;
  const fallback = refusals[statusCode] ?? (isRefusal ? 'ERR_REQUEST_INVALID' : 'ERR_INTERNAL');
  const detail = isRefusal && expose === true ? message : serviceErrors[fallback].title;
  return new DeskbellError(fallback, detail, { cause: error });
}
