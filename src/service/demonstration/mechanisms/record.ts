// A record of a logging mechanism: which of the four, before or after the action, the request's method and URL, and what
// else that mechanism sees.
import type { ActionRequest, SessionEntries } from './action-request.ts';

/** The four ways to log requests and responses. */
export type LoggingMechanism = 'action' | 'filter' | 'authenticator' | 'action-creator';

/** One log record of a mechanism; it has what that mechanism may see. */
export interface MechanismRecord {
  readonly mechanism: LoggingMechanism;
  readonly phase: 'request' | 'result';
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly body?: unknown;
  readonly session?: SessionEntries;
  /** The result of the action; only the action's own logging sees it. */
  readonly result?: unknown;
  /** Why the action failed, or true for a mechanism that sees only that it did. */
  readonly failure?: string | true;
  readonly verdict?: string;
  readonly status?: number;
  readonly elapsedMs?: number;
  /** The client disconnected before its response was sent. */
  readonly isAborted?: true;
}

/** Where mechanisms write to; a pino logger is one. */
export interface RecordLog {
  info(record: MechanismRecord): void;
}

/** The part of a record that the action, its authenticator and its action creator all see. */
export function requestRecord({ method, url, body, session }: ActionRequest): Partial<MechanismRecord> {
  return { method, url, body, session };
}
