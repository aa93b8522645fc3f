// Describes a message in the composer while it is typed and when the page loads: its size, audience, start and errors.
// Also fills the form from an existing broadcast, to send it once more. Start and idempotency key are not copied.
import { formatAskedAudience } from '../../delivery/broadcast/format-broadcast.ts';
import { type AudienceEstimator, formatAudienceSize } from '../../delivery/broadcast/estimate-audience.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { lookUp } from '../../errors/check-options.ts';
import { html, type Html } from '../../http/description/html.ts';
import { measureMessage, memberSizes } from '../../protocol/message/measure-message.ts';
import { memberDescriptions } from '../../protocol/message/members.ts';
import type { Message } from '../../protocol/message/message.ts';
import { readMessage } from '../../protocol/message/read-message.ts';
import { defaultTtlSeconds } from '../../protocol/request.ts';
import type { Broadcast, BroadcastStore } from '../../store/broadcasts.ts';
import { pickDeliveryOptions } from '../../store/delivery-options.ts';
import type { Store } from '../../store/store.ts';
import { notice, untrusted } from './components.ts';
import { actionCount, filledActions, type FormState } from './form-fields.ts';
import { figure, idText } from './figures.ts';
import { type Fields, optionalField } from './forms.ts';
import { describeLocalTime, toLocalTime, toStart } from './local-time-input.ts';
import { findSingleFaults, toAudience, toMessage } from './message-form.ts';
import { renderPreviews, showMessage } from './preview.ts';

/** `notes` has a note for some fields, and the additional notes `size`, `recipients` and `shown`. */
export interface Draft extends Pick<FormState, 'notes' | 'faults'> {
  readonly previews: Html;
}

export async function describeDraft(
  fields: Fields,
  estimator: AudienceEstimator,
  { readers, now }: Pick<Store, 'readers' | 'now'>,
): Promise<Draft> {
  const shown = await showMessage(fields, readers);
  const parts = [
    await orFaults(fields, () => describeMessage(fields), 'size'),
    describePictures(fields),
    await orFaults(fields, () => describeTime(fields, now())),
    await orFaults(fields, () => describeRecipients(fields, estimator), 'recipients'),
  ];
  return {
    notes: Object.assign(
      shown.note === '' ? {} : { shown: shown.note },
      ...parts.map(({ notes }) => notes),
    ) as Fields,
    faults: Object.assign(findSingleFaults(fields), ...parts.map(({ faults }) => faults)) as Fields,
    previews: renderPreviews({ ...fields, ...shown.fields }),
  };
}

type Part = Partial<Pick<Draft, 'notes' | 'faults'>>;

/** @param note a sentence that explains why there is no result */
async function orFaults(fields: Fields, describe: () => Part | Promise<Part>, note?: string): Promise<Part> {
  try {
    return await describe();
  } catch (error) {
    const faults = toFaults(error, fields);
    return { faults, ...(note !== undefined && { notes: { [note]: (error as DeskbellError).message } }) };
  }
}

/** @throws `error` itself if the form's content did not cause it */
export function toFaults(error: unknown, fields: Fields): Fields {
  if (!(error instanceof DeskbellError)) throw error;
  return Object.fromEntries(error.fields.map(({ pointer, detail }) => [fieldOf(pointer, fields), detail]));
}

const tagFields: Readonly<Record<string, string>> = { all: 'tagsAll', any: 'tagsAny', none: 'tagsNone' };

/** `/tags/all/0` belongs to the field `tagsAll`, `/message/texts/de/actions/0/url` to `texts.de.actions.0.url`. */
function fieldOf(pointer: string, fields: Fields): string {
  const [, name = '', part = '', ...inner] = pointer.split('/');
  if (name === 'message' && part !== '') return memberField([part, ...inner].join('.'), fields);
  return name === 'tags' ? (lookUp(tagFields, part) ?? name) : name;
}

/**
 * Finds the form field of a message member such as `texts.de.actions.0.url`. A button may have a higher number in the
 * form, because the message leaves out empty buttons.
 */
const memberField = (member: string, fields: Fields): string =>
  member
    .replace(/actions\.(\d+)/, (_, at) => `actions.${filledActions(fields)[at] ?? at}`)
    .replace(/actions$/, 'actions.0.title')
    .replace(/\.\d+$/, '');

function describeMessage(fields: Fields): Part {
  const message = toMessage(fields);
  const isWithReceipts = fields['receipts'] === 'yes';
  const channel = optionalField(fields, 'channel');
  const [longest] = measureMessage(message, { isWithReceipts, channel }).toSorted(
    (one, other) => other.bytes - one.bytes,
  );
  const { localized, bytes, maxBytes } = longest!;
  const language = localized.language === undefined ? '' : `, in ${localized.language}`;
  const size = `${figure('draft.bytes', bytes)} of ${figure('draft.maxBytes', maxBytes)} bytes${language}`;
  const excess = bytes - maxBytes;
  if (excess <= 0) return { notes: { size } };
  const [largest] = memberSizes(localized);
  const field = memberField(largest?.member ?? '', fields);
  return {
    notes: { size: `${size}, ${figure('draft.excess', excess)} too many` },
    faults: {
      [field]:
        `This has ${figure('draft.memberBytes', largest?.bytes ?? 0, field)} bytes, and the message ${figure('draft.excess', excess)} more than the ` +
        `${figure('draft.maxBytes', maxBytes)} that fit into a push message. Shorten it.`,
    },
  };
}

const pictures = Object.entries(memberDescriptions)
  .filter(([, { schema }]) => schema.format === 'picture')
  .map(([name]) => name);

/** Explains what pictures cost: a data URL takes space in the message, and browsers request any other URL. */
function describePictures(fields: Fields): Part {
  const notes = pictures.flatMap((name) => {
    const url = lookUp(fields, name) ?? '';
    if (url === '') return [];
    const note = /^data:/i.test(url)
      ? `This data URL takes ${figure('draft.pictureBytes', Buffer.byteLength(url), name)} bytes of the message.`
      : `Each browser loads it ${URL.canParse(url) ? `from ${new URL(url).host}` : 'from your site'} when it shows the message.`;
    return [[name, note] as const];
  });
  return { notes: Object.fromEntries(notes) };
}

function describeTime(fields: Fields, nowMs: number): Part {
  const startMs = toStart(fields, nowMs)?.getTime();
  if (startMs === undefined) return {};
  const startAt = figure('draft.start', startMs, '', (atMs) => describeLocalTime(atMs, fields, nowMs));
  return { notes: { startAt } };
}

async function describeRecipients(fields: Fields, estimator: AudienceEstimator): Promise<Part> {
  const size = await estimator.estimate(toAudience(fields));
  const recipients = figure('draft.recipients', size.count, '', () => formatAudienceSize(size));
  return { notes: { recipients } };
}

export interface Duplicate {
  readonly fields: Fields;
  /** Says which broadcast was copied, and names options of the broadcast that the form cannot express. */
  readonly done: Html;
}

/** The maximum number of ids that the form can hold. */
const maxIds = 1000;

export async function duplicate(broadcast: Broadcast, broadcasts: BroadcastStore): Promise<Duplicate> {
  const { id, audience } = broadcast;
  const { payload, hasPlaceholders, texts } = broadcast;
  const message = readMessage(payload, { texts: texts && (await broadcasts.texts(id)), hasPlaceholders });
  const audienceFields = await toAudienceFields(broadcast, broadcasts);
  const lacking = [
    ...(message === undefined ? [html`Its payload is not a message with title and text.`] : []),
    ...((message?.actions?.length ?? 0) > actionCount
      ? [html`The form has room for ${String(actionCount)} buttons.`]
      : []),
    ...(audienceFields === undefined
      ? [html`It went to ${untrusted(formatAskedAudience(audience))}: choose an audience.`]
      : []),
  ];
  return {
    fields: {
      ...(message && toMessageFields(message)),
      ...toOptionFields(broadcast),
      // if the form cannot express the audience, it asks for ids, so that the copied broadcast never goes to everybody
      ...(audienceFields ?? { audience: 'ids', ids: '' }),
    },
    done: notice(
      lacking.length === 0 ? 'good' : 'warn',
      `A copy of broadcast ${idText('broadcast', id)}; it is sent only after the review`,
      html`${lacking.map((text) => html`<p>${text}</p>`)}`,
    ),
  };
}

function toMessageFields(message: Message): Fields {
  const { actions = [], tag, texts = {}, ...members } = message;
  const fields = Object.entries(members).map(([name, value]) => [name, toText(name, value)] as const);
  return {
    ...Object.fromEntries([...fields, ...toFields('actions', actions), ...toFields('texts', texts)]),
    languages: Object.keys(texts).join(' '),
    replace: tag === null ? 'none' : tag === undefined ? '' : 'tag',
    tag: tag ?? '',
  };
}

/** `{ de: { title: 'Hallo' } }` of `texts` is the field `texts.de.title`. */
const toFields = (name: string, value: unknown): readonly (readonly [name: string, value: string])[] =>
  typeof value === 'object'
    ? Object.entries(value ?? {}).flatMap(([part, inner]) => toFields(`${name}.${part}`, inner))
    : [[name, String(value ?? '')]];

function toText(name: string, value: unknown): string {
  const { type, format } = lookUp(memberDescriptions, name)!.schema;
  if (type === 'boolean') return value === true ? 'yes' : 'no';
  if (format === 'timestamp') return toLocalTime(Number(value), {});
  return type === undefined ? JSON.stringify(value) : String(value);
}

/** Converts a broadcast's options to fields. Options with a default value are left out. */
function toOptionFields({ receipts, ...broadcast }: Broadcast): Fields {
  const { ttlSeconds, urgency, ...others } = pickDeliveryOptions(broadcast);
  return {
    ...(ttlSeconds !== defaultTtlSeconds && { ttlSeconds: String(ttlSeconds) }),
    ...(urgency !== 'normal' && { urgency: String(urgency) }),
    ...Object.fromEntries(Object.entries(others).map(([name, value]) => [name, String(value)])),
    ...(receipts !== undefined && { receipts: 'yes' }),
  };
}

/** @returns undefined for an audience that the form cannot express */
async function toAudienceFields(
  { id, audience }: Broadcast,
  broadcasts: BroadcastStore,
): Promise<Fields | undefined> {
  if (audience === undefined || audience === 'all') return audience && { audience };
  if ('list' in audience) {
    const ids = audience.list === 'ids' ? await broadcasts.listedIds(id, maxIds) : undefined;
    return ids && { audience: 'ids', ids: ids.join(', ') };
  }
  if ('broadcast' in audience)
    return { audience: 'outcome', broadcast: String(audience.broadcast), outcome: audience.outcome };
  const { user, tags } = audience;
  if (user !== undefined) return tags === undefined ? { audience: 'user', user } : undefined;
  const [tagsAll, tagsAny, tagsNone] = [tags?.all, tags?.any, tags?.none].map((names = []) =>
    names.join(', '),
  );
  return { audience: 'tags', tagsAll: tagsAll!, tagsAny: tagsAny!, tagsNone: tagsNone! };
}
