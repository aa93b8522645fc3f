import type { ActionRequest, SessionEntries } from './action-request.ts';

/** The four ways to log requests and responses. */
export type LoggingMechanism = 'action' | 'filter' | 'authenticator' | 'action-creator';

/** A log record of a logging mechanism, with what that mechanism may see. */
export interface MechanismRecord {
  readonly mechanism: LoggingMechanism;
  readonly phase: 'request' | 'result';
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly body?: unknown;
  readonly session?: SessionEntries;
  /** Only the action's own logging sees the result. */
  readonly result?: unknown;
  /** Why the action failed, or true for mechanisms that see only that it did. */
  readonly failure?: string | true;
  readonly verdict?: string;
  readonly status?: number;
  readonly elapsedMs?: number;
  readonly isAborted?: true;
}

/** Where mechanisms write, such as a pino logger. */
export interface RecordLog {
  info(record: MechanismRecord): void;
}

export function requestRecord({ method, url, body, session }: ActionRequest): Partial<MechanismRecord> {
  return { method, url, body, session };
}
