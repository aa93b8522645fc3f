// Rings a bell: converts a recognised request to a message that fits, and stores it as a broadcast before responding.
// Requests over the limit per minute are not sent one by one: a single broadcast reports their number.
import { hash } from 'node:crypto';
import type { MatchingAudience } from '../delivery/broadcast/audience.ts';
import type { BroadcastOptions } from '../delivery/broadcast/create-broadcast.ts';
import type { Sender } from '../delivery/sender.ts';
import { DeskbellError, splitPointer } from '../errors/deskbell-error.ts';
import { countOf } from '../errors/format-count.ts';
import { lookUp } from '../errors/check-options.ts';
import { maxPlaintextBytes } from '../protocol/message-encryption.ts';
import { encodePayload } from '../protocol/message/encode-payload.ts';
import { measureMessage } from '../protocol/message/measure-message.ts';
import type { Message } from '../protocol/message/message.ts';
import { readMessage } from '../protocol/message/read-message.ts';
import type { Bell, Fold, NewBellRequest } from '../store/bells.ts';
import type { Store } from '../store/store.ts';
import type { Made } from './answers.ts';
import { BellError, clean, type Posted, type Shown, textOf, toJson } from './posted.ts';
import { type Tool, tools } from './tools.ts';

export interface BellParts {
  readonly store: Pick<Store, 'bells' | 'broadcasts' | 'now'>;
  readonly sender: Pick<Sender, 'createBroadcast'>;
  /** The maximum number of broadcasts that a bell creates in a minute. */
  readonly perMinute: number | 'off';
}

const maxTitleBytes = 400;
const maxLabelBytes = 60;
const maxUrlBytes = 1000;
/** Bytes reserved for the text, even if title, link and buttons are long. */
const minTextBytes = 1500;

/** The number of bytes by which the text may still grow. */
const room = (message: Message): number => maxPlaintextBytes - measureMessage(message)[0]!.bytes;

/** Creates a bell's message, shortened so that it fits into one push message. */
export function toMessage(bell: Bell, { title, text, key, isQuiet, isSilent, ...shown }: Shown): Message {
  const actions = shown.actions?.flatMap((action) => {
    const url = linkOf(action.url);
    return url === undefined ? [] : { title: cutToBytes(action.title, maxLabelBytes), url };
  });
  const plain: Message = {
    title: cutToBytes(clean(title ?? bell.title ?? bell.name), maxTitleBytes),
    message: '',
    // without a key of its own, the notification must not replace an unread one
    tag: key === undefined ? null : tagOf(bell, key),
    renotify: key !== undefined && !isQuiet ? true : undefined,
    requireInteraction: isQuiet ? false : undefined,
    silent: isQuiet || isSilent ? true : undefined,
  };
  const linked = { ...plain, url: linkOf(shown.url) ?? bell.url };
  const whole = { ...linked, actions: actions?.length ? actions : undefined };
  const message = [whole, linked].find((candidate) => room(candidate) >= minTextBytes) ?? plain;
  return { ...message, message: cutToBytes(clean(text), room(message)) };
}

const tagOf = ({ id }: Bell, key: string): string =>
  `bell-${id}-${hash('sha256', key, 'base64url').slice(0, 16)}`;

/** Returns an absolute http(s) URL in ASCII. */
function linkOf(given: unknown): string | undefined {
  const url = URL.parse(textOf(given) ?? '');
  return url && /^https?:$/.test(url.protocol) && url.href.length <= maxUrlBytes ? url.href : undefined;
}

const characters = new Intl.Segmenter();
const bytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;

/** Cuts the text between user-visible characters, so that it takes at most `maxBytes` as JSON. */
function cutToBytes(text: string, maxBytes: number): string {
  if (bytesOf(text) <= maxBytes) return text;
  let end = 0;
  let bytes = bytesOf('…');
  // a UTF-16 code unit takes at least one byte, so more than `maxBytes` code units never fit
  for (const { segment, index } of characters.segment(text.slice(0, maxBytes))) {
    bytes += bytesOf(segment);
    if (bytes > maxBytes) break;
    end = index + segment.length;
  }
  return `${text.slice(0, end)}…`;
}

/** Lets the first tool that recognises the request read it. */
async function recognise(bell: Bell, posted: Posted, nowMs: number) {
  const { value } = posted;
  const own = textAt(value, bell.textFrom);
  const ofBell: Pick<Tool, 'name' | 'answer' | 'read'> = {
    name: 'fields of the bell',
    read: () => (own === undefined ? undefined : { text: own }),
  };
  for (const { name, answer, read } of [ofBell, ...tools]) {
    const shown = await read(posted, nowMs);
    if (shown === undefined) continue;
    if ('whyNothing' in shown || shown instanceof BellError) return { name, answer, shown };
    const title = textAt(value, bell.titleFrom) ?? shown.title;
    return { name, answer, shown: { ...shown, title, url: textAt(value, bell.urlFrom) ?? shown.url } };
  }
  throw new Error('Anything is text.');
}

/** @see RFC 6901 §4 */
function textAt(whole: object | undefined, pointer: string | undefined): string | undefined {
  if (pointer === undefined) return undefined;
  let value: unknown = whole;
  for (const name of splitPointer(pointer))
    value =
      typeof value === 'object' && value && Object.hasOwn(value, name) ? value[name as never] : undefined;
  return typeof value === 'object' && value ? toJson(value) : textOf(value);
}

/** Header fields that identify a delivery. The same value in two requests means that the sender tried again. */
const deliveryHeaders = ['x-github-delivery', 'x-gitea-delivery', 'x-forgejo-delivery', 'idempotency-key'];

export interface Bells {
  /** @throws {BellError} */
  ring(bell: Bell, posted: Posted): Promise<Made & Required<Pick<Tool, 'answer'>>>;
  /** Cancels a waiting message with this key, for ntfy's `DELETE` and `clear`. */
  cancel(bell: Bell, key: string): Promise<void>;
}

export function createBells({ store, sender, perMinute }: BellParts): Bells {
  const { bells, broadcasts } = store;
  /** Broadcasts that count requests over the limit and are still being created. */
  const opening = new Map<string, Promise<number>>();

  const create = async (bell: Bell, message: Message, options: BroadcastOptions) =>
    sender.createBroadcast(bell.audience as 'all' | MatchingAudience, message, {
      channel: bell.channel,
      createdBy: { bell: bell.name },
      ...options,
    });

  const cancel: Bells['cancel'] = async (bell, key) => {
    const tag = tagOf(bell, key);
    for (const { id, startAtMs, payload } of await broadcasts.listOpen(500))
      if (startAtMs > store.now() && readMessage(payload)?.tag === tag) await broadcasts.cancel(id);
  };

  /**
   * Counts a request.
   *
   * @returns undefined within the limit; otherwise the broadcast that reports how many requests exceeded the limit
   */
  const count = async (bell: Bell, { title, message }: Message): Promise<number | undefined> => {
    const toFold = ({ count: requests, sinceMs }: Fold): Message => ({
      ...toMessage(bell, {
        title: `${bell.title ?? bell.name}: ${requests} more`,
        text: `In ${countOf(Math.ceil((store.now() - sinceMs + 1) / 60_000), 'minute')}. The last one: ${title}: ${message}`,
        key: 'more',
      }),
      renotify: undefined,
    });
    const encode = (fold: Fold): Uint8Array => encodePayload(toFold(fold));
    const admitted = await bells.admit(bell.id, perMinute === 'off' ? Infinity : perMinute, encode);
    if (admitted === 'rings' || typeof admitted === 'number')
      return admitted === 'rings' ? undefined : admitted;
    const { startAtMs, ...fold } = admitted;
    const name = `${bell.id} ${startAtMs}`;
    const open = async (): Promise<number> => {
      const options = { urgency: bell.urgency, startAt: new Date(startAtMs) };
      const { broadcast } = await create(bell, toFold(fold), options);
      await bells.foldInto(bell.id, broadcast.id, startAtMs, encode);
      return broadcast.id;
    };
    const opened = opening.get(name) ?? open();
    opening.set(name, opened);
    return opened.finally(() => opening.delete(name));
  };

  const send = async (bell: Bell, { headers }: Posted, shown: Shown) => {
    const message = toMessage(bell, shown);
    const texts = { title: message.title, text: message.message };
    const counting = await count(bell, message);
    if (counting !== undefined) return { ...texts, outcome: 'folded', broadcastId: counting } as const;
    if (shown.isSequence) await cancel(bell, shown.key!);
    const options: BroadcastOptions = {
      urgency: shown.urgency ?? bell.urgency,
      topic: message.tag ?? undefined,
      startAt: shown.delayMs === undefined ? undefined : new Date(store.now() + shown.delayMs),
    };
    const delivery = deliveryHeaders.map((name) => textOf(lookUp(headers, name))).find(Boolean);
    const idempotencyKey = delivery && `bell/${bell.id}/${delivery.slice(0, 100)}`;
    const { broadcast, isNew } = await create(bell, message, { ...options, idempotencyKey }).catch(
      (error: unknown) => {
        // a known delivery id with different content is a new request, not a repetition
        if (error instanceof DeskbellError && error.code === 'ERR_IDEMPOTENCY_KEY')
          return create(bell, message, options);
        throw error;
      },
    );
    return { ...texts, outcome: isNew ? 'rung' : 'repeated', broadcastId: broadcast.id } as const;
  };

  return {
    cancel,
    ring: async (bell, posted) => {
      const nowMs = store.now();
      const { name: tool, answer = 'JSON', shown } = await recognise(bell, posted, nowMs);
      const note = (request: Omit<NewBellRequest, 'tool'>) => bells.note(bell.id, { tool, ...request });
      if (shown instanceof BellError) {
        await note({ outcome: 'refused', leftOut: shown.message });
        throw shown;
      }
      if ('whyNothing' in shown) {
        await note({ outcome: 'nothing', leftOut: shown.whyNothing });
        const made = { title: '', text: '', outcome: 'nothing', broadcastId: undefined } as const;
        return { ...made, answer, bellId: bell.id, nowMs };
      }
      const made = await send(bell, posted, shown).catch(async (error: unknown) => {
        // the broadcast is refused if, for example, the channel in the settings of the bell was removed
        if (error instanceof DeskbellError) await note({ outcome: 'refused', leftOut: error.message });
        throw error;
      });
      const { outcome, broadcastId } = made;
      const { leftOut = [], shape } = shown;
      await note({ outcome, broadcastId, leftOut: leftOut.join(', ') || undefined, shape });
      return { ...made, answer, bellId: bell.id, nowMs };
    },
  };
}
