// The clock of this machine against those of push services.
import { defaultTokenLifetimeSeconds } from '../../protocol/vapid-token.ts';
import type { Finding } from './finding.ts';

const secondMs = 1000;
const toleratedMs = 60 * secondMs;

/** @param differencesMs the clocks of push services less ours, of those that could be asked */
export function checkClock(differencesMs: readonly number[]): Finding {
  const subject = 'clock';
  const differences = differencesMs.toSorted((a, b) => a - b);
  const median = differences[Math.floor(differences.length / 2)];
  if (median === undefined)
    return { subject, status: 'ok', detail: 'not compared: no push service gave the time' };
  const awayMs = Math.abs(median);
  if (awayMs <= toleratedMs) return { subject, status: 'ok', detail: 'agrees with push services' };
  const seconds = Math.round(awayMs / secondMs);
  return {
    subject,
    status: awayMs >= defaultTokenLifetimeSeconds * secondMs ? 'fault' : 'warning',
    detail: `${seconds} seconds ${median > 0 ? 'behind' : 'ahead of'} push services`,
    cure: 'Set the clock, and keep it right with NTP. Push services refuse tokens that a wrong clock has dated.',
  };
}
