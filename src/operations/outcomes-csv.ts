// What came of each subscription in a broadcast as CSV (RFC 4180), made while it is read: a line for each subscription that the
// store knows of, in the order of ids. It has no endpoints and no keys.
import { isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { escapeControls } from '../errors/untrusted-text.ts';
import type { AttemptStore, RowOutcome } from '../store/attempts.ts';

type Cell = string | number | undefined;

const time = (atMs: number | undefined): Cell => (atMs === undefined ? undefined : isoTime(atMs));

const columns = {
  subscription: ({ subscriptionId }: RowOutcome): Cell => subscriptionId,
  user: ({ user }: RowOutcome): Cell => user,
  push_service: ({ origin }: RowOutcome): Cell => origin,
  state: ({ state }: RowOutcome): Cell => state,
  status: ({ attempts: [last] }: RowOutcome): Cell => last?.status,
  reason: ({ attempts: [last] }: RowOutcome): Cell => last?.reason,
  answer: ({ attempts: [last] }: RowOutcome): Cell => last?.detail,
  attempts: ({ attempts: [last], wait }: RowOutcome): Cell => last?.attempt ?? wait?.attempts ?? 0,
  last_attempt_at: ({ attempts: [last] }: RowOutcome): Cell => time(last?.atMs),
  waits_for: ({ wait }: RowOutcome): Cell => wait?.for,
  waits_until: ({ wait }: RowOutcome): Cell => time(wait?.untilMs),
  expires_at: ({ wait }: RowOutcome): Cell => time(wait?.expiresAtMs),
  reported: ({ receipts }: RowOutcome): Cell =>
    typeof receipts === 'object' ? receipts.join(' ') : receipts,
  deletion_held_since: ({ heldSinceMs }: RowOutcome): Cell => time(heldSinceMs),
} as const;

export const csvContentType = 'text/csv; charset=utf-8';

/** `broadcast-7-outcomes.csv` */
export const csvFileName = (broadcastId: number): string => `broadcast-${broadcastId}-outcomes.csv`;

/** Ids that are looked at together: some milliseconds of work. */
const idsAtOnce = 2000;

/** What came of the rows of a broadcast, some at a time, in the order of ids. The next are read when they are asked for. */
export async function* readOutcomes(
  attempts: Pick<AttemptStore, 'outcomesAfter'>,
  broadcastId: number,
): AsyncGenerator<readonly RowOutcome[]> {
  for (let afterId: number | undefined = 0; afterId !== undefined;) {
    const page = await attempts.outcomesAfter(broadcastId, { afterId, ids: idsAtOnce });
    if (page.outcomes.length > 0) yield page.outcomes;
    afterId = page.next;
  }
}

export const csvHeader = `${Object.keys(columns).join(',')}\r\n`;

export const toCsv = (outcomes: readonly RowOutcome[]): string =>
  outcomes
    .map(
      (outcome) =>
        `${Object.values(columns)
          .map((cellOf) => toCell(cellOf(outcome)))
          .join(',')}\r\n`,
    )
    .join('');

function toCell(value: Cell): string {
  if (value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = escapeControls(value);
  // users and push services choose the text: a spreadsheet would run it, also one for which another sign separates cells
  const guarded = text.replaceAll(/(^|[,;\t|])(?=[\s"']*[=+\-@])/g, "$1'");
  return /[",;\t|]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}
