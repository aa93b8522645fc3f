// The error for an answer whose status is not from 200 to 299.
import type { Headers } from './types.ts';

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
