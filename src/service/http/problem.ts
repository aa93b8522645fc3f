// Errors as RFC 9457 problems: every fault, ours or Fastify's, becomes a `DeskbellError`, and every `DeskbellError`
// becomes one body of one form.
import type { FastifyInstance } from 'fastify';

import { catalogue, type ErrorCode } from '../../errors/catalogue.ts';
import { DeskbellError, type FieldError } from '../../errors/deskbell-error.ts';
import type { Log } from './log.ts';

export const problemType = 'application/problem+json';

/** Body of every answer from 400 on (RFC 9457 §3). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly errors?: readonly FieldError[];
}

export function toProblem(fault: DeskbellError): Problem {
  const { status, title, remedy } = catalogue[fault.code];
  return {
    type: `urn:deskbell:error:${fault.code}`,
    title,
    status,
    // What a fault of the server says is for the server's log.
    detail: status >= 500 ? remedy : fault.message,
    code: fault.code,
    ...(fault.fields.length > 0 && { errors: fault.fields }),
  };
}

interface ErrorSettings {
  readonly log: Log;
  readonly bodyLimitBytes: number;
}

/** Answers whatever is thrown in a route or hook of this scope. */
export function sendProblems(app: FastifyInstance, { log, bodyLimitBytes }: ErrorSettings): void {
  app.setErrorHandler((error, request, reply) => {
    const fault = toFault(error, bodyLimitBytes);
    if (fault.status >= 500) log.error({ event: 'fault', method: request.method, url: request.url, error });
    // Bytes, because Fastify adds a charset to the type of text, and this type has no parameters (RFC 9457 §3).
    const body = Buffer.from(JSON.stringify(toProblem(fault)));
    return reply.code(fault.status).header('content-type', problemType).send(body);
  });
}

const fastifyCodes: Readonly<Record<string, { code: ErrorCode; message: string }>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'ERR_CONTENT_TYPE',
    message: 'The body needs the content type application/json.',
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'ERR_REQUEST_INVALID',
    message: 'The body is not as long as its content-length says.',
  },
  ECONNRESET: { code: 'ERR_REQUEST_INVALID', message: 'The request ended before its body was complete.' },
};

function toFault(error: unknown, bodyLimitBytes: number): DeskbellError {
  if (error instanceof DeskbellError) return error;
  const { code = '', statusCode = 500 } = error as { code?: string; statusCode?: number };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const message = `The body is larger than the ${bodyLimitBytes} bytes that are read.`;
    return new DeskbellError('ERR_BODY_TOO_LARGE', message, { cause: error });
  }
  const known = fastifyCodes[code];
  if (known) return new DeskbellError(known.code, known.message, { cause: error });
  const fallback = statusCode >= 400 && statusCode < 500 ? 'ERR_REQUEST_INVALID' : 'ERR_INTERNAL';
  return new DeskbellError(fallback, catalogue[fallback].title, { cause: error });
}
