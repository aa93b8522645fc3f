// Every figure, state and time that a page shows has a name. Templates do not accept numbers, so pages can show them
// only through `figure`. A test has the list of names, and computes each figure from the rows of a store.
import { channel } from 'node:diagnostics_channel';
import { countOf, formatCount } from '../../errors/format-count.ts';
import { type Html, htmlText } from '../../http/description/html.ts';

/** A figure that was shown on a page. Tests subscribe to these figures. */
export interface ShownFigure {
  /** The kind of object and what the figure says about it, such as `broadcast.recipients`. */
  readonly name: string;
  /** What the figure describes: an id, a host or a name, or several of these separated by spaces. */
  readonly of: string;
  readonly value: number | string;
  /** The figure as the page shows it. */
  readonly text: string;
}

const shown = channel('deskbell.figure');

/** @param write formats the value. Default: a count with separators, such as `11,328` */
export function figure<Value extends number | string, Text extends string | Html = string>(
  name: string,
  value: Value,
  of: number | string = '',
  write: (value: Value) => Text = formatCount as never,
): Text {
  const text = write(value);
  if (shown.hasSubscribers)
    shown.publish({ name, of: String(of), value, text: typeof text === 'string' ? text : htmlText(text) });
  return text;
}

/** Returns a function that shows figures of one object, such as a broadcast. */
export const figuresOf =
  (thing: string, of: number | string) =>
  <Value extends number | string, Text extends string | Html = string>(
    name: string,
    value: Value,
    write?: (value: Value) => Text,
  ): Text =>
    figure(`${thing}.${name}`, value, of, write);

export const idText = (thing: 'broadcast' | 'schedule' | 'subscription', id: number): string =>
  figure(`${thing}.id`, id, id, String);

/** `1 subscription`, `11,328 subscriptions` */
export const counted =
  (one: string) =>
  (count: number): string =>
    countOf(count, one);
