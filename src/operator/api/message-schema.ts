// The message as a schema, for bodies of requests.
import { Type } from '../../http/schema.ts';
import {
  actionMembers,
  memberDescriptions,
  messageSchema as messageValueSchema,
} from '../../protocol/message/members.ts';
import type { Message } from '../../protocol/message/message.ts';
import type { ValueSchema } from '../../protocol/message/value-schema.ts';

/** The members of a notification; docs/notifications.md says more of each. */
export const messageSchema = Type.Unsafe<Message>({
  ...messageValueSchema,
  additionalProperties: false,
  description: 'The notification to be shown.',
  properties: withDescriptions(memberDescriptions),
});

function withDescriptions(
  members: Readonly<Record<string, { readonly schema: ValueSchema; readonly description: string }>>,
): Readonly<Record<string, object>> {
  const described = Object.entries(members).map(([name, { schema, description }]) => {
    const items = schema.items?.properties && {
      items: { ...schema.items, additionalProperties: false, properties: withDescriptions(actionMembers) },
    };
    return [name, { ...schema, ...items, description }];
  });
  return Object.fromEntries(described);
}

/** A message for the examples of the description. */
export const exampleMessage = { title: 'Ding dong', message: 'Tea is ready' };
