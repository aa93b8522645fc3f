// Who is signed in to the console: the cookie has a random name, and the store a hash of it, so that every process on the
// store knows the session. It ends when its operator is removed, on signing out, and after its time.
import { hash, randomBytes } from 'node:crypto';
import type { Operator, OperatorStore } from '../../store/operators.ts';
import { consoleRoles } from '../authorize.ts';

export interface ConsoleSession {
  readonly operator: Operator;
  /** Every request that changes something carries it. */
  readonly csrfToken: string;
  /** Whether the operator's role permits changes. */
  readonly mayChange: boolean;
}

export interface ConsoleSessions {
  /** @returns the name of the session, for the cookie */
  start(operator: Operator): Promise<string>;
  find(name: string): Promise<ConsoleSession | undefined>;
  end(name: string): Promise<void>;
}

const lifetimeMs = 12 * 60 * 60 * 1000;

export function createSessions(operators: OperatorStore): ConsoleSessions {
  return {
    start: async ({ id: operatorId }) => {
      // 256 bits
      const name = randomBytes(32).toString('base64url');
      await operators.startSession({ nameHash: derive('session', name), operatorId, lifetimeMs });
      return name;
    },
    find: async (name) => {
      if (name === '') return undefined;
      const operator = await operators.findBySession(derive('session', name));
      if (operator === undefined || !consoleRoles.includes(operator.role)) return undefined;
      const csrfToken = derive('csrf', name).toString('base64url');
      return { operator, csrfToken, mayChange: operator.role === 'full' };
    },
    end: async (name) => {
      if (name !== '') await operators.endSession(derive('session', name));
    },
  };
}

/** Nobody can tell the name from it, or one from another. */
const derive = (purpose: 'session' | 'csrf', name: string): Buffer =>
  hash('sha256', `${purpose} ${name}`, 'buffer');
