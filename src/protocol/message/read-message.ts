// Decodes a payload into its message, so that the message can be sent again. This reverses `encode-payload.ts`, but
// leaves out browsers' defaults, the message ID and a generated tag.
import { isJsonObject, type JsonObject, parseJsonObject } from '../json-object.ts';
import { memberDescriptions, textDescriptions } from './members.ts';
import type { Message, MessageAction } from './message.ts';

/** What belongs to a message besides its payload: texts in other languages, and whether it has placeholders. */
export interface StoredTexts {
  /** By canonical BCP 47 tag. */
  readonly texts?: ReadonlyMap<string, Uint8Array> | undefined;
  readonly hasPlaceholders?: boolean | undefined;
}

/** @returns undefined if the payload was not made by `encodePayload` */
export function readMessage(
  payload: Uint8Array,
  { texts = new Map(), hasPlaceholders = false }: StoredTexts = {},
): Message | undefined {
  const own = readText(payload);
  if (own === undefined) return undefined;
  const entries = [...texts].map(([language, text]) => [language, differences(own, readText(text))]);
  return {
    ...own,
    ...(entries.length > 0 && { texts: Object.fromEntries(entries) as NonNullable<Message['texts']> }),
    ...(hasPlaceholders && { placeholders: true }),
  };
}

const differences = (own: Message, text: Message | undefined): JsonObject =>
  Object.fromEntries(
    Object.entries(text ?? {}).filter(
      ([name, value]) =>
        Object.hasOwn(textDescriptions, name) &&
        JSON.stringify(value) !== JSON.stringify(own[name as keyof Message]),
    ),
  );

function readText(payload: Uint8Array): Message | undefined {
  const whole = parseJsonObject(Buffer.from(payload).toString());
  if (typeof whole?.['title'] !== 'string' || typeof whole['message'] !== 'string') return undefined;
  const notification = whole['notification'];
  const plain = isJsonObject(notification) ? fromDeclarative(whole, notification) : whole;
  const known = Object.entries(plain).filter(([name]) => Object.hasOwn(memberDescriptions, name));
  const message = Object.fromEntries(known) as unknown as Message;
  const { tag, actions } = message;
  return {
    ...message,
    ...(isMadeUp(tag, whole['id']) && { tag: null }),
    ...(Array.isArray(actions) && { actions: actions.map(withoutOwnName) }),
  };
}

function fromDeclarative(
  { title, message, app_badge, mutable }: JsonObject,
  notification: JsonObject,
): JsonObject {
  const { navigate, tag, requireInteraction, actions, ...options } = notification;
  const others = Array.isArray(actions) ? (actions as readonly JsonObject[]) : undefined;
  return {
    ...options,
    title,
    message,
    url: navigate,
    ...(tag !== 'deskbell' && { tag }),
    ...(requireInteraction === false && { requireInteraction }),
    ...(others && {
      actions: others.map(({ navigate: actionUrl, ...action }) => ({
        ...action,
        ...(actionUrl !== navigate && { url: actionUrl }),
      })),
    }),
    ...(app_badge !== undefined && { appBadge: app_badge }),
    ...(mutable !== undefined && { mutable }),
    declarative: true,
  };
}

/** True if `randomId` probably made the tag: 16 characters, nearly always with letters of both cases and a digit. */
function isMadeUp(tag: unknown, id: unknown): boolean {
  if (typeof tag !== 'string') return false;
  return tag === id || (/^[\w-]{16}$/.test(tag) && [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(tag)));
}

/** Removes an action's name if it is the default, which is the action's index. */
function withoutOwnName({ action, ...rest }: MessageAction, index: number): MessageAction {
  return action === String(index) ? rest : { ...rest, action };
}

/** @returns empty texts if the payload was not made by `encodePayload` */
export function readPayloadTexts(payload: Uint8Array): { readonly title: string; readonly message: string } {
  const { title, message } = parseJsonObject(Buffer.from(payload).toString()) ?? {};
  return { title: textOf(title), message: textOf(message) };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
