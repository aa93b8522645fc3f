// Schemas of messages and delivery options, and the result of a message.
import type { SendResult } from '../delivery/sender.ts';
import { Optional, type OptionalSchema, Type } from '../http/schema.ts';
import {
  actionMembers,
  memberDescriptions,
  messageSchema as messageValueSchema,
  textDescriptions,
} from '../protocol/message/members.ts';
import type { Message } from '../protocol/message/message.ts';
import type { ValueSchema } from '../protocol/message/value-schema.ts';
import type { PushOptions } from '../protocol/request.ts';
import {
  deliveryOptions,
  type DeliveryOptions,
  type OptionDescription,
  type StoredOptions,
} from '../store/delivery-options.ts';

type Schemas<Options> = { readonly [Name in keyof Options]-?: OptionalSchema<NonNullable<Options[Name]>> };

/** Options of a broadcast or a schedule. */
export const deliveryOptionSchemas = Object.fromEntries(
  Object.entries<OptionDescription>(deliveryOptions).map(([name, option]) => {
    const { schema, description: text, byDefault } = option;
    const description = byDefault === undefined ? text : `${text} Default: ${byDefault}.`;
    return [name, Optional.Unsafe({ ...schema, description })];
  }),
) as Schemas<DeliveryOptions>;

const { receipts: _isAsked, ...storedOptions } = deliveryOptionSchemas;

/** Options of a broadcast in a response. There, `receipts` contains the reports of browsers. */
export const storedOptionSchemas: Schemas<StoredOptions> = storedOptions;

const { ttlSeconds, urgency, topic } = deliveryOptionSchemas;

export const pushOptionSchemas: Schemas<PushOptions> = { ttlSeconds, urgency, topic };

type Members = Readonly<Record<string, { readonly schema: ValueSchema; readonly description: string }>>;

const actionSchema = Type.Model<object>('Action', {
  ...memberDescriptions['actions']!.schema.items,
  additionalProperties: false,
  description: 'A button of a notification.',
  properties: withDescriptions(actionMembers),
});

const textsSchema = Type.Model<object>('Texts', {
  ...memberDescriptions['texts']!.schema.additionalProperties,
  additionalProperties: false,
  description:
    'The parts of a message that differ in one language. If a button leaves out a member, the member comes from the message’s button at the same position.',
  properties: withModels(textDescriptions),
});

export const exampleMessage = { title: 'Ding dong', message: 'Tea is ready' };

/** The members of a notification; docs/notifications.md describes each. */
export const messageSchema = Type.Model<Message>('Message', {
  ...messageValueSchema,
  additionalProperties: false,
  description: 'The notification to show.',
  examples: [exampleMessage],
  properties: {
    ...withModels(memberDescriptions),
    texts: { ...withDescriptions(memberDescriptions)['texts'], additionalProperties: textsSchema },
  },
});

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

/** A message whose texts differ by reader. */
export const exampleForReaders = {
  title: 'Ding dong, {name|dear guest}',
  message: 'Tea is ready',
  texts: { de: { title: 'Ding dong, {name|lieber Gast}', message: 'Der Tee ist fertig' } },
  placeholders: true,
};

/** The schema of the result of `sentMessageToJson`. */
export const sentMessageSchema = Type.Named('SentMessage', {
  id: Optional.Integer(),
  pushService: Type.String(),
  outcome: Type.String({
    enum: ['accepted', 'gone', 'retry', 'rejected'],
    description:
      'accepted: the push service accepted the message. gone: the subscription has ended. retry: the push service may accept the ' +
      'message later. rejected: the push service will not accept the message as it is.',
  }),
  status: Optional.Integer({ description: 'HTTP status of the push service’s response.' }),
  reason: Optional.String(),
  detail: Optional.String({ description: 'The push service’s own words.' }),
  retryAfterSeconds: Optional.Integer(),
});

/** @param id the stored subscription's id; absent if the request contained the subscription itself */
export function sentMessageToJson(
  id: number | undefined,
  endpoint: string,
  { outcome, response }: SendResult,
) {
  // A message's URL must be kept secret, like an endpoint, so it is not shown.
  const { reason, detail, afterMs }: { kind: string; reason?: string; detail?: string; afterMs?: number } =
    outcome;
  return {
    id,
    pushService: new URL(endpoint).origin,
    outcome: outcome.kind,
    status: response?.status,
    reason,
    detail,
    retryAfterSeconds: afterMs === undefined ? undefined : Math.ceil(afterMs / 1000),
  };
}
