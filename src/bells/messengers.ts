// Reads requests for messengers and notification servers, and any other JSON, form or text.
import { countOf } from '../errors/format-count.ts';
import { lookUp } from '../errors/check-options.ts';
import { cutText } from '../errors/untrusted-text.ts';
import type { JsonObject } from '../protocol/json-object.ts';
import type { Urgency } from '../protocol/request.ts';
import { clean, listOf, objectOf, type Posted, type Shown, textOf, toJson } from './posted.ts';

/** Converts a Gotify priority to the urgency with which Gotify's Android app treats it. */
function urgencyOf(priority: unknown): Urgency | undefined {
  const value = Number(textOf(priority) ?? Number.NaN);
  if (Number.isNaN(value)) return undefined;
  return value <= 0 ? 'very-low' : value <= 3 ? 'low' : value <= 7 ? 'normal' : 'high';
}

export function readGotify({ path, fields = {} }: Posted): Shown | undefined {
  const text = textOf(fields['message']);
  if (path[0] !== 'message' || text === undefined) return undefined;
  const { 'client::notification': notification } = objectOf(fields['extras']);
  const { click, bigImageUrl } = objectOf(notification);
  const urgency = urgencyOf(fields['priority']);
  return {
    title: textOf(fields['title']),
    // Proxmox puts the text into a code fence
    text: text.replaceAll(/^[ \t]*```\w*[ \t]*$/gm, '').trim(),
    url: objectOf(click)['url'],
    urgency,
    isSilent: urgency === 'very-low',
    leftOut: bigImageUrl === undefined ? [] : ['an image'],
  };
}

const appriseUrgencies: Readonly<Record<string, Urgency>> = {
  failure: 'high',
  info: 'normal',
  success: 'low',
};

export function readApprise({ fields = {} }: Posted): Shown | undefined {
  const { version, type, title, message, attachments } = fields;
  if (textOf(version)?.startsWith('1.') !== true || textOf(type) === undefined) return undefined;
  const count = listOf(attachments).length;
  return {
    title: textOf(title),
    text: textOf(message) ?? '',
    urgency: lookUp(appriseUrgencies, String(type)),
    leftOut: count === 0 ? [] : [countOf(count, 'attachment')],
  };
}

/** Converts Slack's markup to plain text: `<https://…|label>` becomes the label, `&lt;` becomes `<`. */
function plainOf(text: string): string {
  return text
    .replaceAll(/<[^<>|]+\|([^<>]+)>/g, '$1')
    .replaceAll(/<(https?:[^<>]+)>/g, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

export function readSlack({ fields = {} }: Posted): Shown | undefined {
  const { text, attachments, blocks, title: other } = fields;
  if (other != null || (typeof text !== 'string' && !Array.isArray(attachments ?? blocks))) return undefined;
  const [first = {}, ...others] = listOf(attachments);
  const parts = listOf(blocks).map((block) => textOf(objectOf(block['text'])['text']));
  const texts = [
    text,
    ...parts,
    first['text'] ?? first['fallback'],
    ...others.map((one) => one['title'] ?? one['fallback']),
  ];
  const [, link] = /<(https?:[^<>|]+)/.exec(texts.join('\n')) ?? [];
  const title = textOf(first['title']);
  return {
    title: title && plainOf(title),
    text: [...new Set(texts.flatMap((part) => textOf(part) ?? []))].map(plainOf).join('\n'),
    url: first['title_link'] ?? link,
  };
}

export function readDiscord({ fields = {} }: Posted): Shown | undefined {
  const { content, embeds } = fields;
  if (typeof content !== 'string' && !Array.isArray(embeds)) return undefined;
  const [first = {}, ...others] = listOf(embeds);
  const texts = [content, first['description'], ...others.map(({ title }) => title)];
  return {
    title: textOf(first['title']),
    text: texts.flatMap((text) => textOf(text) ?? []).join('\n'),
    url: first['url'],
  };
}

/** Common names of members, in order of preference. */
export const usualNames = {
  text: ['message', 'text', 'body', 'description', 'summary', 'msg', 'content'],
  title: ['title', 'subject', 'name'],
  url: ['url', 'link', 'click'],
} as const;

const firstOf = (fields: JsonObject, names: readonly string[]): string | undefined =>
  names.flatMap((name) => textOf(lookUp(fields, name)) ?? [])[0];

export function readUsual({ fields = {} }: Posted): Shown | undefined {
  const text = firstOf(fields, usualNames.text);
  if (text === undefined) return undefined;
  return { text, title: firstOf(fields, usualNames.title), url: firstOf(fields, usualNames.url) };
}

const maxShapeCharacters = 1000;

/** Shows a request's JSON unchanged if Deskbell finds no readable text in it. */
export function readUnknown({ value, text, secret }: Posted): Shown | undefined {
  if (value === undefined) return undefined;
  const [json, shape] = [toJson(value) ?? text, describeShape(value)].map((part) =>
    part.replaceAll(secret, '…'),
  );
  return { text: json!, shape: clean(cutText(shape!, maxShapeCharacters)) };
}

/** Members and types, without values: `{alert: {name: text, tags: [text]}, count: number}`. */
function describeShape(value: unknown, depth = 0): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value === 'string' ? 'text' : typeof value;
  if (depth > 3) return '…';
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[${describeShape(value[0], depth + 1)}]`;
  const members = Object.entries(value).slice(0, 30);
  return `{${members.map(([name, part]) => `${name.slice(0, 40)}: ${describeShape(part, depth + 1)}`).join(', ')}}`;
}
