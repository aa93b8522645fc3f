// A broadcast that is there as the fields of the form, to be sent once more: its message, its audience and its options. Its start
// and its idempotency key are its own.
import { formatAskedAudience } from '../../delivery/broadcast/describe-source.ts';
import { html, type Html } from '../../http/description/html.ts';
import { memberDescriptions } from '../../protocol/message/members.ts';
import type { Message } from '../../protocol/message/message.ts';
import { readMessage } from '../../protocol/message/read-message.ts';
import { defaultTtlSeconds } from '../../protocol/request.ts';
import type { Broadcast, BroadcastStore } from '../../store/broadcasts.ts';
import { pickDeliveryOptions } from '../../store/delivery-options.ts';
import { actionCount } from './action-fields.ts';
import { notice, untrusted } from './components.ts';
import type { Fields } from './forms.ts';
import { toLocalTime } from './local-time-input.ts';
import { fromTexts } from './languages.ts';
import { lookUp } from '../../errors/look-up.ts';

export interface Duplicate {
  readonly fields: Fields;
  /** Says which broadcast it is, and what the form cannot say of it. */
  readonly done: Html;
}

/** Ids that fit into the form. */
const maxIds = 1000;

export async function duplicate(broadcast: Broadcast, broadcasts: BroadcastStore): Promise<Duplicate> {
  const { id, audience } = broadcast;
  const { payload, hasPlaceholders, texts } = broadcast;
  const message = readMessage(payload, { texts: texts && (await broadcasts.texts(id)), hasPlaceholders });
  const audienceFields = await toAudienceFields(broadcast, broadcasts);
  const lacking = [
    ...(message === undefined ? [html`Its payload is not a message with title and text.`] : []),
    ...((message?.actions?.length ?? 0) > actionCount
      ? [html`The form has room for ${actionCount} buttons.`]
      : []),
    ...(audienceFields === undefined
      ? [html`It went to ${untrusted(formatAskedAudience(audience))}: choose an audience.`]
      : []),
  ];
  return {
    fields: {
      ...(message && toMessageFields(message)),
      ...toOptionFields(broadcast),
      // never everybody: without ids, it is asked for them
      ...(audienceFields ?? { audience: 'ids', ids: '' }),
    },
    done: notice(
      lacking.length === 0 ? 'good' : 'warn',
      `A copy of broadcast ${id}; it is sent only after the review`,
      html`${lacking.map((text) => html`<p>${text}</p>`)}`,
    ),
  };
}

function toMessageFields(message: Message): Fields {
  const { actions = [], tag, texts, ...members } = message;
  const fields = Object.entries(members).map(([name, value]) => [name, toText(name, value)] as const);
  return {
    ...Object.fromEntries(fields),
    ...(texts && fromTexts(texts)),
    replace: tag === null ? 'none' : tag === undefined ? '' : 'tag',
    tag: tag ?? '',
    ...Object.fromEntries(
      actions.slice(0, actionCount).flatMap(({ title, url = '', icon = '', action = '' }, index) => [
        [`actionTitle${index}`, title],
        [`actionUrl${index}`, url],
        [`actionIcon${index}`, icon],
        [`actionName${index}`, action],
      ]),
    ),
  };
}

function toText(name: string, value: unknown): string {
  const { type, format } = lookUp(memberDescriptions, name)!.schema;
  if (type === 'boolean') return value === true ? 'yes' : 'no';
  if (format === 'timestamp') return toLocalTime(Number(value), {});
  return type === undefined ? JSON.stringify(value) : String(value);
}

/** What holds by default is left to the form. */
function toOptionFields({ receipts, ...broadcast }: Broadcast): Fields {
  const { ttlSeconds, urgency, ...others } = pickDeliveryOptions(broadcast);
  return {
    ...(ttlSeconds !== defaultTtlSeconds && { ttlSeconds: String(ttlSeconds) }),
    ...(urgency !== 'normal' && { urgency: String(urgency) }),
    ...Object.fromEntries(Object.entries(others).map(([name, value]) => [name, String(value)])),
    ...(receipts !== undefined && { receipts: 'yes' }),
  };
}

/** @returns undefined for an audience that the form cannot name */
async function toAudienceFields(
  { id, audience }: Broadcast,
  broadcasts: BroadcastStore,
): Promise<Fields | undefined> {
  if (audience === undefined || audience === 'all') return audience && { audience };
  if ('list' in audience) {
    const ids = audience.list === 'ids' ? await broadcasts.listedIds(id, maxIds) : undefined;
    return ids && { audience: 'ids', ids: ids.join(', ') };
  }
  const { user, tags } = audience;
  if (user !== undefined) return tags === undefined ? { audience: 'user', user } : undefined;
  const [tagsAll, tagsAny, tagsNone] = [tags?.all, tags?.any, tags?.none].map((names = []) =>
    names.join(', '),
  );
  return { audience: 'tags', tagsAll: tagsAll!, tagsAny: tagsAny!, tagsNone: tagsNone! };
}
