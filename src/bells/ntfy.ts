// Reads ntfy's parameters from header fields, the query or JSON. Reports parameters that notifications do not support.
import { countOf } from '../errors/format-count.ts';
import { decodePercent } from '../errors/untrusted-text.ts';
import { lookUp } from '../errors/check-options.ts';
import { isJsonObject } from '../protocol/json-object.ts';
import { BellError, parse, type Posted, type RequestHead, type Shown, textOf } from './posted.ts';

/** For each JSON member, its names in header fields and the query. The first name that has a value is used. */
const aliases = {
  message: 'x-message message m',
  title: 'x-title title t',
  priority: 'x-priority priority prio p',
  tags: 'x-tags tags tag ta',
  delay: 'x-delay delay x-at at x-in in',
  click: 'x-click click',
  icon: 'x-icon icon',
  actions: 'x-actions actions action',
  attach: 'x-attach attach a',
  filename: 'x-filename filename file f',
  email: 'x-email x-e-mail email e-mail mail e',
  call: 'x-call call',
  sequence_id: 'x-sequence-id sequence-id sid',
} as const;

type Parameters = Readonly<Partial<Record<keyof typeof aliases, unknown>>>;

function readParameters({ headers, query }: RequestHead): Parameters {
  const found = Object.entries(aliases).flatMap(([name, words]) => {
    const names = words.split(' ');
    const given = [
      ...names.map((alias) => lookUp(headers, alias)),
      ...names.map((alias) => query.get(alias)),
    ];
    const texts = given.flatMap((value) => textOf(value ?? '') ?? []).map(decodeHeader);
    // RFC 9218 defines a header field with this name for another purpose
    const first = texts.find((text) => name !== 'priority' || !/^u=|^i$/.test(text));
    return first === undefined ? [] : [[name, first]];
  });
  return Object.fromEntries(found);
}

/** Decodes a header field. Node reads it as Latin-1, but clients write UTF-8, or encoded words (RFC 2047 §2). */
function decodeHeader(text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  const isBytes = /^[\0-\xff]*$/.test(text) && Buffer.from(bytes.toString()).equals(bytes);
  return (isBytes ? bytes.toString() : text)
    .replaceAll(/(=\?[^?\s]+\?[BQ]\?[^?\s]*\?=)\s+(?==\?)/gi, '$1')
    .replaceAll(/=\?[\w-]+\?([BQ])\?([^?\s]*)\?=/gi, (_, form: string, word: string) => {
      if (form.toUpperCase() === 'B') return Buffer.from(word, 'base64').toString();
      const percent = word
        .replaceAll('%', '%25')
        .replaceAll('_', ' ')
        .replaceAll(/=(?=[\dA-F]{2})/gi, '%');
      return decodePercent(percent) ?? word;
    });
}

/** ntfy also accepts the numbers 1 to 5. The priorities of other tools, such as Cloudflare’s, are ignored. */
const priorities = ['min', 'low', 'default', 'high', 'max'];
const urgencies = ['very-low', 'low', 'normal', 'high', 'high'] as const;

/** Parameters that notifications do not support. */
const notShown = { attach: 'an attachment', icon: 'an icon', email: 'an e-mail', call: 'a call' } as const;

/** @param text the text of the body */
async function toShown(
  parameters: Parameters,
  { path, bytes, method }: Posted,
  nowMs: number,
  text = '',
): Promise<Shown | BellError> {
  const delayMs = readDelay(textOf(parameters.delay), nowMs);
  if (delayMs instanceof BellError) return delayMs;
  const filename = textOf(parameters.filename);
  const isFile = bytes.includes(0) || filename !== undefined;
  const { tags } = parameters;
  const names = (Array.isArray(tags) ? tags : (textOf(tags)?.split(',') ?? [])).flatMap(
    (name) => textOf(name) ?? [],
  );
  const { nameToEmoji } = names.length === 0 ? { nameToEmoji: {} } : await import('gemoji');
  const emojis = names.flatMap((name) => lookUp(nameToEmoji, name) ?? []);
  const prefix = emojis.map((emoji) => `${emoji} `).join('');
  const words = names.filter((name) => lookUp(nameToEmoji, name) === undefined);
  const message = textOf(parameters.message);
  // a body takes precedence over the parameter `message`
  const body = (isFile ? message : text || message) ?? (isFile ? (filename ?? 'A file') : 'triggered');
  const withWords = words.length === 0 ? body : `${body}\n(${words.join(', ')})`;
  const title = textOf(parameters.title);
  const priority = textOf(parameters.priority)?.toLowerCase().replace('urgent', 'max') ?? '';
  const key = textOf(parameters.sequence_id) ?? (path.length === 2 && method !== 'GET' ? path[1] : undefined);
  const actions = readActions(parameters.actions);
  const views = actions.filter(({ action, label }) => action === 'view' && textOf(label) !== undefined);
  const left = actions.length - views.length;
  return {
    title: title && prefix + title,
    text: title === undefined ? prefix + withWords : withWords,
    url: parameters.click,
    urgency:
      urgencies[priorities.includes(priority) ? priorities.indexOf(priority) : Number(priority || '0') - 1],
    key,
    isSequence: key !== undefined,
    delayMs,
    actions: views.slice(0, 3).map(({ label, url }) => ({ title: String(label), url: textOf(url) })),
    leftOut: [
      ...Object.entries(notShown).flatMap(([name, what]) =>
        textOf(parameters[name as keyof Parameters]) !== undefined || (isFile && name === 'attach')
          ? what
          : [],
      ),
      ...(left > 0 ? [countOf(left, 'action')] : []),
    ],
  };
}

interface Action {
  readonly action?: unknown;
  readonly label?: unknown;
  readonly url?: unknown;
}

const maxActionCharacters = 4000;

/** JSON, or ntfy's short form `view, Label, https://…, clear=true; http, …`; quoted values may contain commas. */
function readActions(given: unknown): readonly Action[] {
  const text = textOf(given)?.slice(0, maxActionCharacters) ?? '';
  const list = Array.isArray(given) ? given : parse(text);
  if (Array.isArray(list)) return list.filter(isJsonObject);
  return text.split(';').flatMap((part) => {
    const values = part.matchAll(/("[^"]*"|'[^']*'|[^,"']+)(?:,|$)/g);
    const [action, label, url] = Array.from(values, ([, value = '']) =>
      value.trim().replace(/^(["'])(.*)\1$/, '$2'),
    );
    return action === undefined || action === '' ? [] : [{ action, label, url }];
  });
}

const unitsMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const [minDelayMs, maxDelayMs] = [10_000, 3 * unitsMs.d];

/** Reads seconds since 1970, or a time to wait, such as `30s`, `10m` or `2 hours`. Refuses any other text. */
function readDelay(text: string | undefined, nowMs: number): number | BellError | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = ''] =
    /^(\d{1,9})\s*([smhd])(?:ec(?:ond)?s?|in(?:ute)?s?|(?:ou)?rs?|ays?)?$/i.exec(text) ?? [];
  const delayMs = /^\d{9,11}$/.test(text)
    ? Number(text) * 1000 - nowMs
    : Number(count) * unitsMs[unit.toLowerCase() as keyof typeof unitsMs];
  if (delayMs >= minDelayMs && delayMs <= maxDelayMs) return delayMs;
  return new BellError(
    400,
    40004,
    'invalid delay parameter: give 10s to 3d, or a time in seconds since 1970',
  );
}

/** Reads JSON that was posted to the root; its `topic` is the bell's secret. */
export const readNtfyJson = (posted: Posted, nowMs: number) =>
  posted.path.length === 0 && textOf(posted.fields?.['topic']) !== undefined
    ? toShown(posted.fields!, posted, nowMs)
    : undefined;

/** Reads a text body, with parameters from the header fields and the query. In a parameter, `\n` is a line break. */
export function readNtfyText(posted: Posted, nowMs: number) {
  const parameters = readParameters(posted);
  const message = textOf(parameters.message)?.replaceAll(String.raw`\n`, '\n');
  return toShown({ ...parameters, message }, posted, nowMs, posted.text);
}
