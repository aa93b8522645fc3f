// Makes the payload of each row of a broadcast: the text in its reader's language, with the reader's data in place of
// placeholders, and its own receipt token. A worker reads the texts of each broadcast once.
import type { PersonData } from '../../audience/reader-facts.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { createReceiptPayloads, createReceiptTokens } from '../../protocol/message/receipt-token.ts';
import { createTemplate } from '../../protocol/message/placeholders.ts';
import type { Broadcast, BroadcastStore, Recipient } from '../../store/broadcasts.ts';
import type { ReaderStore } from '../../store/readers.ts';
import type { NotSendable } from '../limits/not-sent.ts';

/** The parts of the store that have texts and readers' data. */
export interface ReaderParts {
  readonly broadcasts: Pick<BroadcastStore, 'texts'>;
  readonly readers: Pick<ReaderStore, 'dataOf'>;
}

/** The data of the readers, by subscription id. */
export type DataOfRows = Readonly<Record<number, PersonData>>;

type PayloadOf = (recipient: Recipient, data: DataOfRows) => Uint8Array | NotSendable;

/** @param language the language of the row's text; undefined for the message's own text */
export type RowPayloads = (
  language: string | undefined,
  ...row: Parameters<PayloadOf>
) => ReturnType<PayloadOf>;

/** Number of broadcasts whose texts a worker keeps. */
const keptBroadcasts = 32;

export class PayloadSource {
  readonly #parts: ReaderParts;
  readonly #receiptKey: Uint8Array | undefined;
  readonly #known = new Map<string, RowPayloads>();

  constructor(parts: ReaderParts, receiptKey: Uint8Array | undefined) {
    this.#parts = parts;
    this.#receiptKey = receiptKey;
  }

  async of(broadcast: Broadcast): Promise<RowPayloads> {
    // after a restore, a new broadcast may have the id of a broadcast that was lost
    const key = `${broadcast.id} ${broadcast.createdAtMs}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const texts =
      broadcast.texts === undefined ? undefined : await this.#parts.broadcasts.texts(broadcast.id);
    const payloads = createRowPayloads(broadcast, this.#receiptKey, texts);
    if (this.#known.size >= keptBroadcasts) this.#known.clear();
    this.#known.set(key, payloads);
    return payloads;
  }

  /** Reads the data for a page of rows with one query, if the broadcast has placeholders. */
  async dataOf({ hasPlaceholders = false }: Broadcast, rows: readonly Recipient[]): Promise<DataOfRows> {
    if (!hasPlaceholders) return noData;
    const stored = rows.flatMap(({ subscriptionId: id, endpoint }) =>
      id === undefined ? [] : [{ id, endpoint }],
    );
    return stored.length === 0 ? noData : this.#parts.readers.dataOf(stored);
  }
}

const noData: DataOfRows = {};

function createRowPayloads(
  broadcast: Broadcast,
  receiptKey: Uint8Array | undefined,
  texts: ReadonlyMap<string | undefined, Uint8Array> = new Map(),
): RowPayloads {
  const own = createPayloadOf(broadcast, broadcast.payload, receiptKey);
  const inLanguage = new Map(
    Array.from(texts, ([language, text]) => [language, createPayloadOf(broadcast, text, receiptKey)]),
  );
  return (language, recipient, data) => (inLanguage.get(language) ?? own)(recipient, data);
}

function createPayloadOf(
  { id, hasPlaceholders = false, receipts }: Broadcast,
  payload: Uint8Array,
  receiptKey: Uint8Array | undefined,
): PayloadOf {
  const key = receipts === undefined ? undefined : receiptKey;
  if (hasPlaceholders) return createFilled(id, payload, key);
  if (key === undefined) return () => payload;
  const payloadFor = createReceiptPayloads(payload, id, key);
  return ({ subscriptionId }) => (subscriptionId === undefined ? payload : payloadFor(subscriptionId));
}

function createFilled(broadcastId: number, payload: Uint8Array, key: Uint8Array | undefined): PayloadOf {
  const template = createTemplate(payload);
  const createToken = key && createReceiptTokens(key);
  return ({ subscriptionId }, dataOfRows) => {
    const data = (subscriptionId === undefined ? undefined : dataOfRows[subscriptionId]) ?? {};
    const receipt = subscriptionId === undefined ? undefined : createToken?.({ broadcastId, subscriptionId });
    try {
      return template.fill(data, receipt);
    } catch (error) {
      if (!(error instanceof DeskbellError)) throw error;
      const reason = error.code === 'ERR_PAYLOAD_TOO_LARGE' ? 'payload-too-large' : 'no-value';
      return { reason, detail: error.message };
    }
  };
}
