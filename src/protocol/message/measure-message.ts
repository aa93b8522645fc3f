// Turns a message into the JSON texts that are sent, one for each language, and measures them.
import { randomBytes } from 'node:crypto';
import { lookUp } from '../../errors/check-options.ts';
import { maxPlaintextBytes } from '../message-encryption.ts';
import { actionName, checkMessage, type LocalizedMessage } from './check-message.ts';
import { actionMembers, type MemberDescription, memberDescriptions } from './members.ts';
import { messageError } from './value-schema.ts';
import type { Message } from './message.ts';
import { createTemplate, type Template } from './placeholders.ts';
import { receiptMemberBytes } from './receipt-token.ts';

export interface PayloadOptions {
  /** True to leave room for the receipt's token (`receipt-token.ts`). */
  readonly isWithReceipts?: boolean;
  /** The broadcast's channel. The payload names the channel only if one of the message's actions turns it off. */
  readonly channel?: string | undefined;
}

/** The action that turns off the message's channel instead of opening a page. */
const turnOffChannelAction = 'turn-off-channel';

/** A message in one of its languages, with its size. The message may be too large to send. */
export interface MeasuredText {
  readonly localized: LocalizedMessage;
  readonly payload: Uint8Array;
  /** The payload's size with the placeholders' default values. */
  readonly bytes: number;
  readonly maxBytes: number;
  /** Set only if the message has placeholders. */
  readonly template: Template | undefined;
}

/**
 * Measures a message in each of its languages. The result for its own text comes first.
 *
 * @throws {DeskbellError} ERR_MESSAGE_INVALID
 */
export function measureMessage(
  message: Message,
  { isWithReceipts = false, channel }: PayloadOptions = {},
  createId: () => string = randomId,
): readonly MeasuredText[] {
  const texts = checkMessage(message);
  // the id is the same in all languages, so that a reader who changes language does not get the message twice
  const id = message.tag === null || message.renotify ? createId() : undefined;
  const maxBytes = maxPlaintextBytes - (isWithReceipts ? receiptMemberBytes : 0);
  return texts.map((localized) => {
    checkDeclarative(localized);
    const { title, message: text, declarative, mutable, placeholders, ...further } = localized.message;
    const whole = { title, message: text, ...complete(further, id), ...channelFor(localized, channel) };
    const payload = Buffer.from(toJson(declarative ? toDeclarativeForm(whole, mutable) : whole));
    const template = placeholders ? createTemplate(payload, localized.nameOf) : undefined;
    return { localized, payload, bytes: template?.minBytes ?? payload.length, maxBytes, template };
  });
}

/** Lists the message's members with the sizes of their values, largest first. */
export const memberSizes = ({
  message,
  nameOf,
}: LocalizedMessage): readonly { readonly member: string; readonly bytes: number }[] =>
  Object.entries(message)
    .filter(([member, value]) => value !== undefined && member !== 'placeholders')
    .map(([member, value]) => ({ member: nameOf(member), bytes: Buffer.byteLength(toJson(value)) }))
    .toSorted((one, other) => other.bytes - one.bytes);

const toJson = (value: unknown): string => JSON.stringify(value);

/** Fills in the ID and the names of actions, which must be known when the message is encoded. */
function complete(further: Omit<Message, 'title' | 'message'>, id: string | undefined) {
  const { tag, actions, renotify } = further;
  return {
    ...further,
    tag: tag === null ? id : tag,
    actions: actions?.map((action, index) => ({ ...action, action: actionName(action, index) })),
    id: renotify ? id : undefined,
  };
}

function channelFor({ message: { actions = [] }, nameOf }: LocalizedMessage, channel: string | undefined) {
  const index = actions.findIndex(({ action }) => action === turnOffChannelAction);
  if (index === -1) return undefined;
  if (channel !== undefined) return { channel };
  const fault = `${turnOffChannelAction}, and the message is to no channel`;
  throw messageError(nameOf(`actions[${index}].action`), fault, 'a channel, or the action another name');
}

export const randomId = (): string => randomBytes(12).toString('base64url');

// The declarative form of a message, which some browsers can show without a service worker. The payload also contains
// the fields of an ordinary message, such as `title` and `message`, for service workers that do not read the
// declarative form.

/** Value of the member `web_push`, which identifies the declarative form. */
const declarativePush = 8030;

/**
 * Converts a message to the Push API's declarative form.
 *
 * @param message must have passed the check, and contain any generated tag, ID and action names
 * @param mutable whether the service worker may change the notification
 * @see https://w3c.github.io/push-api/#declarative-push-message
 */
function toDeclarativeForm(
  message: Message & { readonly id?: string | undefined; readonly channel?: string | undefined },
  mutable: boolean | undefined,
): object {
  const { title, message: body, url, actions, appBadge, id, channel, ...options } = message;
  return {
    title,
    message: body,
    id,
    channel,
    web_push: declarativePush,
    notification: {
      ...options,
      title,
      body,
      navigate: url,
      // use the same defaults as the service worker, because the defaults of browsers differ
      tag: options.tag ?? 'deskbell',
      requireInteraction: options.requireInteraction ?? true,
      actions: actions?.map(({ url: actionUrl = url, ...action }) => ({ ...action, navigate: actionUrl })),
    },
    app_badge: appBadge,
    mutable,
  };
}

/**
 * Checks the extra rules for a declarative push message. Browsers do not show the message from its declarative form if
 * the title or the URL to open is missing, and some browsers accept absolute URLs only.
 *
 * @throws {DeskbellError} ERR_MESSAGE_INVALID
 */
function checkDeclarative({ message, nameOf }: LocalizedMessage): void {
  const { declarative, mutable, title, actions = [] } = message;
  if (!declarative) {
    if (mutable !== undefined) throw messageError('declarative', 'missing', 'true, or leave out mutable');
    return;
  }
  if (title === '') throw messageError(nameOf('title'), 'empty', 'a title: the declarative form needs one');
  if (message.url === undefined)
    throw messageError('url', 'missing', 'the URL that a click opens: the declarative form needs one');
  checkAbsolute(message, memberDescriptions, nameOf);
  for (const [index, action] of actions.entries())
    checkAbsolute(action, actionMembers, (name) => nameOf(`actions[${index}].${name}`));
}

function checkAbsolute(
  owner: object,
  members: Readonly<Record<string, Pick<MemberDescription, 'schema'>>>,
  nameOf: (name: string) => string,
): void {
  for (const [name, value] of Object.entries(owner)) {
    const format = lookUp(members, name)?.schema.format;
    if ((format !== 'link' && format !== 'picture') || value === undefined) continue;
    if (!URL.canParse(value as string))
      throw messageError(nameOf(name), 'relative', 'an absolute URL: the declarative form needs one');
  }
}
