import type { FastifyInstance } from 'fastify';

import type { ErrorCode } from '../errors/catalogue.ts';
import { DeskbellError, type FieldError } from '../errors/deskbell-error.ts';
import { escapeControls } from '../errors/untrusted-text.ts';
import { toFault } from './fastify-errors.ts';
import type { Log } from './log.ts';
import type { AnsweredErrors, ResponseRules } from './response-rules.ts';

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
  /** With ERR_MESSAGE_RETRY: each push service's answer. */
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

/** These keep a problem within `maxErrorBytes`, whatever the request, even with every character escaped. */
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
    // details of a server error are only for the server's log
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

/** Cuts the middle, since the beginning and end say more. */
export function cut(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const half = Math.floor((maxCharacters - 1) / 2);
  return `${text.slice(0, half)}…${text.slice(-half)}`.toWellFormed();
}

interface ErrorSettings {
  readonly rules: ResponseRules;
  readonly log: Log;
}

export function sendProblems(app: FastifyInstance, { rules, log }: ErrorSettings): void {
  app.setErrorHandler((error, request, reply) => {
    const fault = toFault(error, request);
    const problem = toProblem(fault, rules.errors);
    const { method, originalUrl: url } = request;
    // strangers can reach a limit, which is no fault of ours and has no stack
    if (problem.code.endsWith('_LIMIT'))
      log.info({ event: 'limit', method, url, code: problem.code, detail: problem.detail });
    else if (problem.status >= 500) log.error({ event: 'fault', method, url, error });
    // A buffer, since Fastify would add a charset to text, and this type has no parameters (RFC 9457 §3).
    const body = Buffer.from(escapeControls(JSON.stringify(problem)));
    return reply.code(problem.status).header('content-type', problemType).send(body);
  });
  boundErrors(app);
}

/** For answers other than problems, such as a page that shows a wrong form again. */
function boundErrors(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    const isText = typeof payload === 'string' || Buffer.isBuffer(payload);
    if (reply.statusCode < 400 || !isText || Buffer.byteLength(payload) <= maxErrorBytes) return done();
    done(
      new DeskbellError('ERR_REQUEST_INVALID', 'The request is not valid, and too long to be shown again.'),
    );
  });
}
