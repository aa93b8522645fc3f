// The message and its options as schemas, for bodies of requests. The sender checks each member in the end; what is told here
// is for readers, and which members there are.
import { Type } from '../../http/schema.ts';
import type { Message } from '../../protocol/message/message.ts';
import { urgencies, type Urgency } from '../../protocol/request.ts';

const url = (description: string) => ({ type: 'string', description });

/** The members of a notification; docs/notifications.md says more of each. */
export const messageSchema = Type.Unsafe<Message>({
  type: 'object',
  required: ['title', 'message'],
  additionalProperties: false,
  description: 'The notification to be shown.',
  properties: {
    title: { type: 'string' },
    message: { type: 'string', description: 'Body text of the notification.' },
    url: url('Opened by a click.'),
    icon: url('Image beside the text.'),
    image: url('Large image.'),
    badge: url('Small monochrome image for a status bar.'),
    actions: {
      type: 'array',
      description: 'Buttons.',
      items: {
        type: 'object',
        required: ['title'],
        additionalProperties: false,
        properties: {
          title: { type: 'string' },
          action: { type: 'string' },
          url: { type: 'string' },
          icon: { type: 'string' },
        },
      },
    },
    tag: {
      type: ['string', 'null'],
      description: 'A notification replaces an earlier one with the same tag; with null it replaces none.',
    },
    renotify: { type: 'boolean' },
    requireInteraction: { type: 'boolean' },
    silent: { type: 'boolean' },
    timestamp: { type: 'integer', description: 'Milliseconds since 1970.' },
    lang: { type: 'string' },
    dir: { type: 'string', enum: ['auto', 'ltr', 'rtl'] },
    appBadge: { type: 'integer' },
    data: { description: 'Any JSON value, for the page and its service worker.' },
    declarative: { type: 'boolean' },
    mutable: { type: 'boolean' },
  },
});

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
      'How often a person is reached at most by broadcasts with a cap, such as 3/day (or /hour, /week). Who has been ' +
      'reached as often is counted as capped.',
  }),
);

export const exampleMessage = { title: 'Ding dong', message: 'Tea is ready' };
