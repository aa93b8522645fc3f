// Errors of Fastify, and whatever else a route throws, as errors of ours.
import type { FastifyRequest } from 'fastify';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { serviceErrors, type ServiceErrorCode } from '../errors/catalogue/service-errors.ts';

const fastifyCodes: Readonly<Record<string, { code: ServiceErrorCode; message: string }>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'ERR_CONTENT_TYPE',
    message: 'The content type of the body is not one that is read here.',
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'ERR_REQUEST_INVALID',
    message: 'The body is not as long as its content-length says.',
  },
  ECONNRESET: { code: 'ERR_REQUEST_INVALID', message: 'The request ended before its body was complete.' },
};

/** Any error as one of ours. */
export function toFault(error: unknown, { routeOptions }: FastifyRequest): DeskbellError {
  if (error instanceof DeskbellError) return error;
  const { code = '', statusCode = 500 } = error as { code?: string; statusCode?: number };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const message = `The body is larger than the ${routeOptions.bodyLimit} bytes that are read.`;
    return new DeskbellError('ERR_BODY_TOO_LARGE', message, { cause: error });
  }
  const known = fastifyCodes[code];
  if (known) return new DeskbellError(known.code, known.message, { cause: error });
  const fallback = statusCode >= 400 && statusCode < 500 ? 'ERR_REQUEST_INVALID' : 'ERR_INTERNAL';
  return new DeskbellError(fallback, serviceErrors[fallback].title, { cause: error });
}
