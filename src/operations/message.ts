// The message as a schema: in bodies of requests, and in what is shown of a schedule.
import { Type } from '../http/schema.ts';
import {
  actionMembers,
  memberDescriptions,
  messageSchema as messageValueSchema,
  textDescriptions,
} from '../protocol/message/members.ts';
import type { Message } from '../protocol/message/message.ts';
import type { ValueSchema } from '../protocol/message/value-schema.ts';

type Members = Readonly<Record<string, { readonly schema: ValueSchema; readonly description: string }>>;

const actionSchema = Type.Model(
  'Action',
  Type.Unsafe<object>({
    ...memberDescriptions['actions']!.schema.items,
    additionalProperties: false,
    description: 'A button of a notification.',
    properties: withDescriptions(actionMembers),
  }),
);

const textsSchema = Type.Model(
  'Texts',
  Type.Unsafe<object>({
    ...memberDescriptions['texts']!.schema.additionalProperties,
    additionalProperties: false,
    description:
      'What a message has of its own in one language. What a button leaves out, it has from the message’s button in its place.',
    properties: withModels(textDescriptions),
  }),
);

/** The members of a notification; docs/notifications.md says more of each. */
export const messageSchema = Type.Model(
  'Message',
  Type.Unsafe<Message>({
    ...messageValueSchema,
    additionalProperties: false,
    description: 'The notification to be shown.',
    properties: {
      ...withModels(memberDescriptions),
      texts: { ...withDescriptions(memberDescriptions)['texts'], additionalProperties: textsSchema },
    },
  }),
);

function withModels(members: Members): Readonly<Record<string, object>> {
  const described = withDescriptions(members);
  return { ...described, actions: { ...described['actions'], items: actionSchema } };
}

function withDescriptions(members: Members): Readonly<Record<string, object>> {
  const described = Object.entries(members).map(([name, { schema, description }]) => [
    name,
    { ...schema, description },
  ]);
  return Object.fromEntries(described);
}

/** A message for the examples of the description. */
export const exampleMessage = { title: 'Ding dong', message: 'Tea is ready' };

/** One that differs by reader. */
export const exampleForReaders = {
  title: 'Ding dong, {name|dear guest}',
  message: 'Tea is ready',
  texts: { de: { title: 'Ding dong, {name|lieber Gast}', message: 'Der Tee ist fertig' } },
  placeholders: true,
};
