// The declarative form of a message: browsers that know it show it by themselves, without any service worker. The plain
// members stand beside it for service workers that do not read it.
import type { LocalizedMessage } from './localize-message.ts';
import { actionMembers, memberDescriptions, type MemberDescription } from './members.ts';
import { messageError } from './message-error.ts';
import type { Message } from './message.ts';
import { lookUp } from '../../errors/look-up.ts';

/** Names the form in its member `web_push`. */
const declarativePush = 8030;

/**
 * The message as the Push API's declarative form.
 *
 * @param message checked, with its own tag, ID and names of actions where it has such
 * @param mutable whether the service worker may change the notification
 * @see https://w3c.github.io/push-api/#declarative-push-message
 */
export function toDeclarativeForm(
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
      // What the service worker does with a message that does not say: browsers have other defaults.
      tag: options.tag ?? 'deskbell',
      requireInteraction: options.requireInteraction ?? true,
      actions: actions?.map(({ url: actionUrl = url, ...action }) => ({ ...action, navigate: actionUrl })),
    },
    app_badge: appBadge,
    mutable,
  };
}

/**
 * Checks what the declarative form asks for beyond the rules of every message: a browser ignores the form where it has no
 * title or no address to open, and some take absolute URLs only.
 *
 * @throws {DeskbellError} ERR_MESSAGE_INVALID
 */
export function checkDeclarative({ message, nameOf }: LocalizedMessage): void {
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
