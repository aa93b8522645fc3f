// What a logging mechanism writes: which of the four it is, before or after, the request's method and URL, and what
// else that mechanism sees.
import type { ActionRequest, SessionEntries } from './action-request.ts';

export type LoggingMechanism = 'action' | 'filter' | 'authenticator' | 'action-creator';

export interface MechanismRecord {
  readonly mechanism: LoggingMechanism;
  readonly phase: 'request' | 'result';
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly body?: unknown;
  readonly session?: SessionEntries;
  /** What the action answered; seen by the action alone. */
  readonly result?: unknown;
  /** Why the action answered nothing, or true where only that it did not is seen. */
  readonly failure?: string | true;
  readonly verdict?: string;
  readonly status?: number;
  readonly elapsedMs?: number;
  /** The client was gone before its answer was. */
  readonly isAborted?: true;
}

/** Where mechanisms write to; a pino logger will do. */
export interface RecordLog {
  info(record: MechanismRecord): void;
}

/** The part of a record that the action, its authenticator and its action creator all see. */
export function requestRecord({ method, url, body, session }: ActionRequest): Partial<MechanismRecord> {
  return { method, url, body, session };
}
