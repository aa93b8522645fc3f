// Errors as in the original. Their texts stay the same, since applications compare them.
import type { DeskbellError } from '../errors/deskbell-error.ts';
import type { TransportResult } from '../transport/transport.ts';
import type { Headers, SendResult } from './types.ts';

export class WebPushError extends Error {
  override readonly name: string = 'WebPushError';
  /** An own property, so that the error's JSON has it. */
  override readonly message: string;
  readonly statusCode: number;
  readonly headers: Headers;
  readonly body: string;
  /** The whole endpoint, as in the original. Do not log it: whoever knows it can send to the browser. */
  readonly endpoint: string;

  constructor(message: string, statusCode: number, headers: Headers, body: string, endpoint: string) {
    super(message);
    this.message = message;
    this.statusCode = statusCode;
    this.headers = headers;
    this.body = body;
    this.endpoint = endpoint;
  }
}

export async function toResult(
  endpoint: string,
  statusCode: number,
  headers: SendResult['headers'],
  body: string,
): Promise<SendResult> {
  if (statusCode >= 200 && statusCode <= 299) return { statusCode, body, headers };
  throw new WebPushError('Received unexpected response code', statusCode, headers, body, endpoint);
}

/** @throws {Error} as `toResult` does, or with a `code` of Node if there is no answer */
export async function readResult(endpoint: string, result: TransportResult): Promise<SendResult> {
  if (result.kind === 'response') {
    const { status, headers, body } = result.response;
    return toResult(endpoint, status, { ...headers }, body);
  }
  if (result.kind === 'failure') throw toNodeError(result.error);
  throw new Error(`The transport deferred a message: ${result.reason}`);
}

/** Applications read the `code` of Node's errors. */
export function toNodeError(error: DeskbellError): Error {
  if (error.code === 'ERR_TIMEOUT') return new Error('Socket timeout', { cause: error });
  if (Error.isError(error.cause)) return error.cause;
  if (error.code !== 'ERR_CONNECTION') return error;
  return Object.assign(new Error('socket hang up', { cause: error }), { code: 'ECONNRESET' });
}

export function ensure(isSo: unknown, message: string): asserts isSo {
  if (!isSo) throw new Error(message);
}
