// Sends errors as RFC 9457 problems, from routes as well as for requests that match no route.
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  type ErrorCode,
  type ServiceErrorCode,
  type ServiceErrorEntry,
  serviceErrors,
} from '../errors/catalogue.ts';
import { DeskbellError, type FieldError } from '../errors/deskbell-error.ts';
import { escapeControls } from '../errors/untrusted-text.ts';
import { type Filter, opaqueValue, type RequestHead } from './filter.ts';
import type { Log } from './log.ts';

export const problemType = 'application/problem+json';

/** Body of every response with a status of 400 or above (RFC 9457 §3). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly errors?: readonly FieldError[];
  /** With ERR_VAPID_KEY_UNKNOWN: the current key. */
  readonly vapidPublicKey?: string;
  /** With ERR_MESSAGE_RETRY: each push service's response. */
  readonly items?: readonly object[];
}

/** An error whose problem has members of its own (RFC 9457 §3.2). */
export class ProblemError extends DeskbellError {
  readonly members: Readonly<Partial<Problem>>;

  constructor(code: ErrorCode, message: string, members: Readonly<Partial<Problem>>) {
    super(code, message);
    this.members = members;
  }
}

/** These limits keep a problem within `maxErrorBytes` for any request, even if every character is escaped. */
const maxDetailCharacters = 2000;
const maxPointerCharacters = 200;
const maxFieldCharacters = 600;
export const maxFields = 20;

const maxErrorBytes = 64 * 1024;

export function toProblem(fault: DeskbellError, errors: AnsweredErrors): Problem {
  const answered = errors[fault.code];
  const code = answered === undefined ? 'ERR_INTERNAL' : fault.code;
  const { status, title, remedy } = answered ?? errors.ERR_INTERNAL;
  return {
    type: `urn:deskbell:error:${code}`,
    title,
    status,
    // the details of a server error appear only in the server's log
    detail: status >= 500 ? remedy : cut(fault.message, maxDetailCharacters),
    code,
    ...(status < 500 &&
      fault.fields.length > 0 && { errors: fault.fields.slice(0, maxFields).map(cutField) }),
    ...(fault instanceof ProblemError && fault.members),
  };
}

const cutField = ({ pointer, code, detail }: FieldError): FieldError => ({
  pointer: cut(pointer, maxPointerCharacters),
  code,
  detail: cut(detail, maxFieldCharacters),
});

/** Shortens the text in the middle, because the beginning and the end say more. */
export function cut(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const half = Math.floor((maxCharacters - 1) / 2);
  return `${text.slice(0, half)}…${text.slice(-half)}`.toWellFormed();
}

export function sendProblems(app: FastifyInstance, rules: ResponseRules, log: Log): void {
  app.setErrorHandler((error, request, reply) => {
    const fault = toFault(error, request);
    const problem = toProblem(fault, rules.errors);
    const { method, originalUrl: url } = request;
    // any client can reach a limit, so this is not logged as an error of the server
    if (problem.code.endsWith('_LIMIT'))
      log.info({ event: 'limit', method, url, code: problem.code, detail: problem.detail });
    else if (problem.status >= 500) log.error({ event: 'fault', method, url, error });
    // A buffer, since Fastify would add a charset to text, and this type has no parameters (RFC 9457 §3).
    const body = Buffer.from(escapeControls(JSON.stringify(problem)));
    return reply.code(problem.status).header('content-type', problemType).send(body);
  });
  boundErrors(app);
}

function boundErrors(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    const isText = typeof payload === 'string' || Buffer.isBuffer(payload);
    if (reply.statusCode < 400 || !isText || Buffer.byteLength(payload) <= maxErrorBytes) return done();
    done(
      new DeskbellError('ERR_REQUEST_INVALID', 'The request is not valid, and too long to be shown again.'),
    );
  });
}

/** The errors that a listener returns, and their statuses. Other errors become ERR_INTERNAL. */
export type AnsweredErrors = Readonly<Partial<Record<ErrorCode, ServiceErrorEntry>>> & {
  readonly ERR_INTERNAL: ServiceErrorEntry;
};

export interface ResponseRules {
  readonly errors: AnsweredErrors;
  /** Header fields that every response gets; their names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly filters: readonly Filter[];
  /** Additional header fields of a preflight's 204; `undefined` for any other request. */
  preflightHeaders(request: IncomingMessage): Readonly<Record<string, string>> | undefined;
}

const invalid: ReadonlyMap<unknown, string> = new Map([
  ['FST_ERR_CTP_INVALID_CONTENT_LENGTH', 'The body is not as long as its content-length says.'],
  ['ECONNRESET', 'The request ended before its body was complete.'],
]);

/** Statuses with which applications refuse requests, as in `http-errors` and Fastify's plug-ins. */
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

export type RenderedResponse = ReturnType<typeof render>;

export interface Rejection {
  readonly fault: DeskbellError;
  readonly allow?: string;
}

export function renderError(head: RequestHead, { fault, allow }: Rejection, rules: ResponseRules) {
  const problem = toProblem(fault, rules.errors);
  const headers = { 'content-type': problemType, ...(allow !== undefined && { allow }) };
  return render(head, problem.status, headers, Buffer.from(JSON.stringify(problem)), rules);
}

/** Renders a response for a request without a route. Runs the enabled filters, and adds the usual header fields. */
export function render(
  head: RequestHead,
  status: number,
  ownHeaders: Readonly<Record<string, string>>,
  body: Buffer,
  rules: ResponseRules,
) {
  const headers: Record<string, string> = { ...rules.headers, ...ownHeaders };
  const setHeader = (name: string, value: string): void => {
    headers[name] = value;
  };
  const response = { status, entity: opaqueValue, isAborted: false, setHeader };
  for (const filter of rules.filters) filter(head)(response);
  return { status, headers, body };
}
