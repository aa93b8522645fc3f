// The error for an answer whose status is not from 200 to 299.
import type { Headers } from './types.ts';

export class WebPushError extends Error {
  override readonly name: string = 'WebPushError';
  /** An own field, so that it stands in the error's JSON as well. */
  override readonly message: string;
  readonly statusCode: number;
  readonly headers: Headers;
  /** Of the answer: the push service's reason. */
  readonly body: string;
  /** Whole, as the original has it: do not log it, whoever knows it can reach the browser. */
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
