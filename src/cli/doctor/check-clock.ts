// The clock of this machine against those of push services.
import { defaultTokenLifetimeSeconds } from '../../protocol/vapid-token.ts';
import { ok, type Outcome } from './finding.ts';

const secondMs = 1000;
const toleratedMs = 60 * secondMs;

/** Of a push service that could be asked. */
export interface ServerTime {
  readonly host: string;
  /** Its clock less ours. */
  readonly differenceMs: number;
}

export function checkClock(times: readonly ServerTime[]): Outcome {
  const differences = times.map(({ differenceMs }) => differenceMs).toSorted((a, b) => a - b);
  const median = differences[Math.floor(differences.length / 2)];
  if (median === undefined) return ok('not compared: no push service gave the time');
  const awayMs = Math.abs(median);
  if (awayMs <= toleratedMs) return ok(`agrees with ${formatHosts(times)}`);
  const seconds = Math.round(awayMs / secondMs);
  return {
    status: awayMs >= defaultTokenLifetimeSeconds * secondMs ? 'fault' : 'warning',
    detail: `${seconds} seconds ${median > 0 ? 'behind' : 'ahead of'} ${formatHosts(times)}`,
    cure: 'Set the clock, and keep it right with NTP. Push services refuse tokens that a wrong clock has dated.',
  };
}

const formatHosts = (times: readonly ServerTime[]): string => times.map(({ host }) => host).join(', ');
