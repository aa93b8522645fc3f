// Who is signed in to the console. A session is known to this process alone, by a random name in a cookie; it ends when its
// operator is removed, on signing out, after its time, and with the process.
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Operator, OperatorStore } from '../../store/operators.ts';

export interface ConsoleSession {
  readonly operator: Operator;
  /** Every request that changes something carries it. */
  readonly csrfToken: string;
  /** Whether the operator's role permits changes. */
  readonly mayChange: boolean;
}

export interface ConsoleSessions {
  /** @returns the name of the session, for the cookie */
  start(operator: Operator): string;
  find(name: string): Promise<ConsoleSession | undefined>;
  end(name: string): void;
}

const lifetimeMs = 12 * 60 * 60 * 1000;
/** More than people who look after one installation; the oldest ends first. */
const maxSessions = 1000;

export function createSessions(operators: OperatorStore, now: () => number = Date.now): ConsoleSessions {
  const sessions = new Map<string, { operatorId: number; csrfToken: string; endsAtMs: number }>();
  return {
    start: ({ id }) => {
      const [oldest] = sessions.keys();
      if (sessions.size >= maxSessions && oldest !== undefined) sessions.delete(oldest);
      const name = randomText();
      sessions.set(name, { operatorId: id, csrfToken: randomText(), endsAtMs: now() + lifetimeMs });
      return name;
    },
    find: async (name) => {
      const session = sessions.get(name);
      if (session === undefined) return undefined;
      const operator = session.endsAtMs > now() ? await operators.findById(session.operatorId) : undefined;
      if (operator === undefined || operator.role === 'metrics') {
        sessions.delete(name);
        return undefined;
      }
      return { operator, csrfToken: session.csrfToken, mayChange: operator.role === 'full' };
    },
    end: (name) => {
      sessions.delete(name);
    },
  };
}

/** 256 bits. */
const randomText = (): string => randomBytes(32).toString('base64url');

/** Compares in a time that tells nothing of what is expected. */
export function isToken(given: unknown, expected: string): boolean {
  if (typeof given !== 'string') return false;
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}
