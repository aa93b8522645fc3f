// The message and its options as schemas, for bodies of requests.
import { Type } from '../../http/schema.ts';
import {
  actionMembers,
  memberDescriptions,
  messageSchema as messageValueSchema,
} from '../../protocol/message/members.ts';
import type { Message } from '../../protocol/message/message.ts';
import type { ValueSchema } from '../../protocol/message/value-schema.ts';
import { urgencies, type Urgency } from '../../protocol/request.ts';

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

/** How a message is to be delivered. */
export const pushOptionSchemas = {
  ttlSeconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2 ** 31 - 1,
      description: 'How long push services keep the message for a browser that is away. Default: four weeks.',
    }),
  ),
  urgency: Type.Optional(
    Type.Unsafe<Urgency>({ type: 'string', enum: urgencies, description: 'Default: normal.' }),
  ),
  topic: Type.Optional(
    Type.String({ description: 'A later message with the same label replaces an undelivered earlier one.' }),
  ),
};

/** Of what is sent to many. */
export const perPersonSchema = Type.Optional(
  Type.String({
    description:
      'How often broadcasts with a cap may reach a person, such as 3/day (or /hour, /week). A person who has been ' +
      'reached that often is counted as capped.',
  }),
);

export const exampleMessage = { title: 'Ding dong', message: 'Tea is ready' };
