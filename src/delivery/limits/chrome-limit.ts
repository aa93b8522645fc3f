// Chrome's limit for sites that disturb people: since January 2026 its push service answers 429 above 1,000 messages a
// minute, for 1, 7 or 14 days. A 429 that passes soon is the ordinary kind.
import type { Outcome } from '../../protocol/outcome.ts';
import { isGooglePushService } from '../../protocol/known-push-services.ts';
import type { RowResult } from '../../store/ledger.ts';

export const chromeLimitReason = 'chrome-limit';

/** After more than a minute of trying. */
const suspiciousAttempts = 5;
const suspiciousWaitMs = 10 * 60 * 1000;

/** @returns the alarm to raise for a row that was asked to wait, where it looks like this limit */
export function findChromeLimit(
  origin: string,
  { reason, afterMs = 0 }: Extract<Outcome, { kind: 'retry' }>,
  attempt: number,
): RowResult['alarm'] {
  if (reason !== 'throttled' || !isGooglePushService(origin)) return undefined;
  if (attempt < suspiciousAttempts && afterMs < suspiciousWaitMs) return undefined;
  return {
    reason: chromeLimitReason,
    detail:
      'it answers 429 for long. Chrome does that for 1, 7 or 14 days, above 1,000 messages a minute, to sites whose messages ' +
      'people dismiss or ignore: send to them less often, and until it ends no faster than --max-rate fcm.googleapis.com=900/min',
  };
}
