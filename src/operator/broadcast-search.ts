// Finds broadcasts by their words, state and time: newest first, a bounded number of them looked at each time.
import { readPayloadTexts } from '../protocol/message/read-payload.ts';
import type {
  Broadcast,
  BroadcastSummary,
  BroadcastState,
  BroadcastStore,
  OfOperator,
} from '../store/broadcasts.ts';
import type { ListPage } from './list-page.ts';

export interface BroadcastFilter extends OfOperator {
  /** Somewhere in title or message, whatever the case. */
  readonly text?: string | undefined;
  /** `scheduled`: running, and its start is still to come; such a broadcast is not found as `running`. */
  readonly state?: BroadcastState | 'scheduled' | undefined;
  /** Of the start, milliseconds since 1970: `sinceMs ≤ start < untilMs`. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** Broadcasts that one call looks at, at most: some milliseconds. */
export const searchBatchSize = 5000;
const readBatchSize = 500;

/** @param range `limit`: how many to find at most @returns `next`: the next `beforeId` */
export async function searchBroadcasts(
  store: Pick<BroadcastStore, 'findAll' | 'summaries'>,
  filter: BroadcastFilter,
  range: { readonly beforeId?: number | undefined; readonly limit: number },
  nowMs: number = Date.now(),
): Promise<ListPage<Broadcast>> {
  const fits = compile(filter, nowMs);
  const ids: number[] = [];
  const found = async (next?: number): Promise<ListPage<Broadcast>> => ({
    items: await store.findAll(ids),
    next,
  });
  let { beforeId } = range;
  for (let searched = 0; searched < searchBatchSize; searched += readBatchSize) {
    const summaries = await store.summaries({
      beforeId,
      limit: readBatchSize,
      operatorId: filter.operatorId,
    });
    for (const head of summaries) {
      if (ids.length === range.limit) return found(beforeId);
      beforeId = head.id;
      if (fits(head)) ids.push(head.id);
    }
    if (summaries.length < readBatchSize) return found();
  }
  return found(beforeId);
}

function compile(
  { text = '', state, sinceMs = -Infinity, untilMs = Infinity }: BroadcastFilter,
  nowMs: number,
): (head: BroadcastSummary) => boolean {
  const words = text.trim().toLocaleLowerCase();
  return (head) => {
    const isScheduled = head.state === 'running' && head.startAtMs > nowMs;
    if (state !== undefined && (isScheduled ? 'scheduled' : head.state) !== state) return false;
    if (head.startAtMs < sinceMs || head.startAtMs >= untilMs) return false;
    if (words === '') return true;
    const { title, message } = readPayloadTexts(head.payload);
    return `${title}\n${message}`.toLocaleLowerCase().includes(words);
  };
}
