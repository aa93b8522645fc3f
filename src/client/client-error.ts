/** Why something failed. `ClientError.message` says it in words; docs/client.md says what helps. */
export type FailureReason =
  | 'not-in-browser'
  | 'no-support'
  | 'home-screen-required'
  | 'insecure-context'
  | 'private-window'
  | 'permission-denied'
  | 'permission-dismissed'
  | 'service-worker-failed'
  | 'push-service-off'
  | 'no-push-service'
  | 'push-service-unreachable'
  | 'not-subscribed'
  | 'server-unreachable'
  | 'server-refused';

/** The error of `createClient`'s promises. */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly reason: FailureReason;
  /** The service's HTTP status, if it answered with an error. */
  readonly status: number | undefined;

  constructor(reason: FailureReason, message: string, cause?: unknown, status?: number) {
    super(message, { cause });
    this.reason = reason;
    this.status = status;
  }
}

export function reported(failure: ClientError): ClientError {
  console.error('Deskbell:', failure.message, failure.cause ?? '');
  return failure;
}
