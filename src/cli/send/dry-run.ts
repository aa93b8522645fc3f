// `deskbell send --dry-run`: prints what would be sent, and how many people would get it. Nothing is stored or sent.
import { countOf, formatCount } from '../../errors/format-count.ts';
import {
  countReadersOf,
  describeReaderCounts,
  formatReaderCount,
  type ReaderCounts,
} from '../../delivery/broadcast/count-readers.ts';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { forecast, formatForecast } from '../../delivery/broadcast/forecast.ts';
import type { Audience } from '../../delivery/broadcast/audience.ts';
import { countAudience } from '../../delivery/broadcast/estimate-audience.ts';
import { findReader } from '../../delivery/single/reader.ts';
import {
  encodeForReaders,
  encodeMessage,
  isForReaders,
  type EncodedMessage,
} from '../../protocol/message/encode-payload.ts';
import { receiptMemberBytes } from '../../protocol/message/receipt-token.ts';
import type { Message } from '../../protocol/message/message.ts';
import { maxPlaintextBytes } from '../../protocol/message-encryption.ts';
import { checkBroadcastOptions, type BroadcastOptions } from '../../delivery/broadcast/create-broadcast.ts';
import type { Store } from '../../store/store.ts';
import type { StoredSubscription } from '../../store/subscriptions.ts';
import type { JsonFlag, Output } from '../output/output.ts';

/** For a larger audience, the counts of readers are estimated from a sample of about this size. */
const maxReaders = 100_000;

/** The recipients: an audience, or one subscription. */
export type DryRunTarget = Audience | StoredSubscription;

/**
 * Checks the message and its options as sending does, then prints the size of the audience and the payload. For a
 * single subscription, prints the payload for its reader.
 *
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE, ERR_PLACEHOLDER_VALUE, ERR_CHANNEL_NOT_FOUND,
 *   and what reading the audience throws
 */
export async function printDryRun(
  target: DryRunTarget,
  message: Message,
  options: BroadcastOptions,
  store: Store,
  output: Output,
  { json }: JsonFlag,
): Promise<void> {
  const isForOne = typeof target === 'object' && 'endpoint' in target;
  const { receipts: isWithReceipts = false, channel } = options;
  const { payload, texts } = isForOne
    ? await encodeForOne(target, message, store)
    : encodeMessage(message, { isWithReceipts, channel });
  checkBroadcastOptions(options, store.now());
  const count = await countAudience(isForOne ? { ids: [target.id] } : target, store);
  const size = { kind: 'exact', count } as const;
  const readers = isForOne
    ? undefined
    : await countReadersOf(target, message, options, store, size, maxReaders);
  const recipients = Math.round(readers?.reached.count ?? count);
  const isToAny = !isForOne && recipients > 0;
  const known = isToAny
    ? await forecast(store, recipients, readers?.throughMs ?? options.startAt?.getTime())
    : undefined;
  if (json) {
    const others = Object.fromEntries([...texts].map(([language, text]) => [language, toFields(text)]));
    const fields = {
      recipients: count,
      ...toFields(payload),
      ...(texts.size > 0 && { texts: others }),
      ...(readers && { readers: readersToFields(readers) }),
      ...(known && {
        ratePerSecond: known.perSecond,
        seconds: known.seconds,
        doneAt: isoTime(known.doneAtMs),
      }),
    };
    return output.line(JSON.stringify({ event: 'dry-run', ...fields }));
  }
  await output.line(
    `Would be sent to ${countOf(count, 'subscription')}; nothing was sent. The payload has ${formatCount(payload.length)} of ` +
      `at most ${formatCount(maxPlaintextBytes - (isWithReceipts ? receiptMemberBytes : 0))} bytes:`,
  );
  await output.line(Buffer.from(payload).toString());
  if (isToAny) await output.line(`Time to send: ${formatForecast(known)}.`);
  if (known !== undefined) await output.line(`Done by: ${isoTime(known.doneAtMs)}`);
  if (readers !== undefined) for (const line of readerLines(readers)) await output.line(line);
  for (const [language, text] of texts) {
    await output.line(`In ${language}, ${formatCount(text.length)} bytes:`);
    await output.line(Buffer.from(text).toString());
  }
}

/** How many readers get each text, are excluded, or have to wait. No lines if all readers are treated alike. */
function readerLines(readers: ReaderCounts): readonly string[] {
  const { byText, lookedAt, isEstimate } = readers;
  const texts = [...byText].map(
    ([language, count]) =>
      [
        count,
        `get ${language === undefined ? "the message's own text" : `the text in ${language}`}`,
      ] as const,
  );
  const head = isEstimate
    ? `Estimated from ${countOf(lookedAt, 'subscription')} of the audience, chosen at random:`
    : 'Of these:';
  const counts = [...texts, ...describeReaderCounts(readers)];
  if (counts.length === 0) return [];
  return [head, ...counts.map(([count, words]) => `  ${formatReaderCount(count, readers)} ${words}`)];
}

const readersToFields = ({ byText, reached, fromMs, throughMs, ...counts }: ReaderCounts): object => ({
  ...counts,
  reached: Math.round(reached.count),
  byText: Object.fromEntries([...byText].map(([language = '', count]) => [language, count])),
  ...(fromMs !== undefined && { from: isoTime(fromMs) }),
  ...(throughMs !== undefined && { through: isoTime(throughMs) }),
});

type Texts = Pick<EncodedMessage, 'payload' | 'texts'>;

async function encodeForOne(
  { endpoint }: StoredSubscription,
  message: Message,
  store: Store,
): Promise<Texts> {
  const encodeFor = encodeForReaders(message);
  const reader = isForReaders(message) ? await findReader({}, endpoint, store) : {};
  return { payload: encodeFor(reader), texts: new Map() };
}

const toFields = (payload: Uint8Array): { readonly payloadBytes: number; readonly payload: unknown } => ({
  payloadBytes: payload.length,
  payload: JSON.parse(Buffer.from(payload).toString()) as unknown,
});
