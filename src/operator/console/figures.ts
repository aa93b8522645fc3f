// Every figure, state and time that a page shows has a name. Templates do not accept numbers, so pages can show them
// only through `figure`. This makes the list of names complete. A test computes each figure from the rows of a store.
import { channel } from 'node:diagnostics_channel';
import type { CountName } from '../../delivery/broadcast/meanings.ts';
import type { ReachTime, Wait } from '../../delivery/broadcast/progress.ts';
import { countOf, formatCount } from '../../errors/format-count.ts';
import { type Html, htmlText } from '../../http/description/html.ts';
import type { OpenBroadcasts, Settlement } from '../../store/broadcasts.ts';
import type { LossReason } from '../../store/losses.ts';
import type { ReceiptEvent } from '../../store/receipts.ts';
import type { RemovedPerson } from '../../store/remove-person.ts';
import type { LeftOut } from '../../store/split-audience.ts';
import type { Visits } from '../../store/visits.ts';

/** The names of figures, by the kind of object that they describe. */
interface Figures {
  readonly alarm: 'acknowledgedAt' | 'count' | 'otherBroadcasts' | 'since';
  readonly answer: 'lastAt' | 'rarer' | 'rarerRows' | 'rows' | 'status';
  readonly attempt: 'at' | 'number' | 'outcome' | 'status' | 'words';
  readonly audit: 'at' | 'status';
  readonly bars: Settlement | 'from';
  readonly bell: 'createdAt' | 'folded' | 'lastRequestAt' | 'requestAt';
  readonly broadcast:
    | CountName
    | ReceiptEvent
    | `${ReceiptEvent}Share`
    | `leftOut.${LeftOut}`
    | `ofOrigin.${string}`
    | `time${'To' | 'Precision'}.${ReachTime['percent']}`
    | `waits.${Wait['for']}`
    | `${'created' | 'expires' | 'finished' | 'nextPart' | 'start' | 'toCome'}At`
    | `${'eta' | 'took' | 'ttl'}Seconds`
    | 'id'
    | 'isAlarmed'
    | 'ofText'
    | 'payloadBytes'
    | 'rate'
    | 'reachedShare'
    | 'recipients'
    | 'state'
    | 'toCome';
  readonly days: 'date' | 'gained' | 'lost';
  readonly done: 'at' | 'messages' | 'subscriptions';
  readonly draft: 'bytes' | 'maxBytes' | 'memberBytes' | 'pictureBytes' | 'excess' | 'recipients' | 'start';
  readonly held: 'since' | 'subscriptions';
  readonly key: 'subscriptions';
  readonly loss: 'at' | 'reason';
  readonly losses: LossReason;
  readonly more: 'hosts';
  readonly open: keyof OpenBroadcasts;
  readonly outcome: 'attempts' | 'state' | 'words';
  readonly overview:
    | 'acknowledged'
    | 'alarms'
    | 'gained'
    | 'lost'
    | 'open'
    | 'rate'
    | 'shown'
    | 'subscriptions';
  readonly page: 'readAt';
  readonly person: 'channel' | 'data' | 'devices' | 'removedAt';
  readonly raised: 'firstAt' | 'rows';
  readonly removed: keyof RemovedPerson;
  readonly review:
    | 'bytes'
    | 'doneAt'
    | 'from'
    | 'lookedAt'
    | 'ofText'
    | 'readers'
    | 'recipients'
    | 'seconds'
    | 'start'
    | 'through';
  readonly schedule: 'createdAt' | 'id' | 'nextAt' | 'pausedAt' | 'ttlSeconds';
  readonly senders: 'machines' | 'workers';
  readonly service:
    | 'connections'
    | 'inFlight'
    | 'latencyMs'
    | 'maxInFlight'
    | 'queued'
    | 'throttled'
    | 'unreachableSeconds';
  readonly services: Settlement | 'attempts';
  readonly subscription: 'createdAt' | 'endedAt' | 'id' | 'updatedAt';
  readonly tag: 'subscriptions';
  readonly visits: keyof Visits;
}

export type FigureName = { [Thing in keyof Figures]: `${Thing}.${Figures[Thing]}` }[keyof Figures];

/** A figure that was shown, published for tests. */
export interface ShownFigure {
  readonly name: FigureName;
  /** What the figure describes: an id, a host or a name, or several of these separated by spaces. */
  readonly of: string;
  readonly value: number | string;
  /** The text on the page. */
  readonly text: string;
}

const shown = channel('deskbell.figure');

/** @param write Default: `11,328` */
export function figure<Value extends number | string, Text extends string | Html = string>(
  name: FigureName,
  value: Value,
  of: number | string = '',
  write: (value: Value) => Text = formatCount as never,
): Text {
  const text = write(value);
  if (shown.hasSubscribers)
    shown.publish({ name, of: String(of), value, text: typeof text === 'string' ? text : htmlText(text) });
  return text;
}

/** Returns a function that shows any figure of one object. */
export const figuresOf =
  <Thing extends keyof Figures>(thing: Thing, of: number | string) =>
  <Value extends number | string, Text extends string | Html = string>(
    name: Figures[Thing],
    value: Value,
    write?: (value: Value) => Text,
  ): Text =>
    figure(`${thing}.${name}` as FigureName, value, of, write);

/** An object's id as text. */
export const idText = (thing: 'broadcast' | 'schedule' | 'subscription', id: number): string =>
  figure(`${thing}.id`, id, id, String);

/** `1 subscription`, `11,328 subscriptions` */
export const counted =
  (one: string) =>
  (count: number): string =>
    countOf(count, one);
