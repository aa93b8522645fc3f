import type { DeskbellError } from '../errors/deskbell-error.ts';
import type { TransportResult } from '../transport/transport.ts';
import type { SendResult } from './types.ts';
import { WebPushError } from './web-push-error.ts';

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
