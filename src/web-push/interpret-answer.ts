// What an answer means to the caller: 200 to 299 is a result, everything else an error.
import type { SendResult } from './types.ts';
import { WebPushError } from './web-push-error.ts';

/** @throws {WebPushError} with the text of the original, which is an interface: applications compare it */
export async function toResult(
  endpoint: string,
  statusCode: number,
  headers: SendResult['headers'],
  body: string,
): Promise<SendResult> {
  if (statusCode >= 200 && statusCode <= 299) return { statusCode, body, headers };
  throw new WebPushError('Received unexpected response code', statusCode, headers, body, endpoint);
}
