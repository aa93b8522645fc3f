// POST /webPush/channels returns and changes a reader's choices of channels. The request needs the `auth` of a
// subscription or a subscriber token. A wrong `auth` gets the same response as a reader who has chosen nothing.
import type { FastifyReply } from 'fastify';
import {
  checkChoices,
  checkKnownChoices,
  maxChannels,
  type Channel,
  type Choices,
} from '../../audience/channels.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { contentResponse, type Operation } from '../../http/description/operation.ts';
import { sendJson } from '../../http/json-body.ts';
import { Optional, type ServiceApp, Type, type ValueOf } from '../../http/schema.ts';
import { decodeBase64, isSameSecret } from '../../protocol/bytes.ts';
import { chooseLanguage, readLanguage } from '../../protocol/language.ts';
import type { Reader } from '../../store/readers.ts';
import type { Store } from '../../store/store.ts';
import type { Settings } from '../options.ts';
import { defaultRegistrationsPerMinute, limitPerMinute } from '../../http/client-limits.ts';
import { createReadSubscriberToken } from './subscriber-token.ts';
import { exampleProof } from './web-push.ts';
import { lookUp } from '../../errors/check-options.ts';

const body = Type.Named(
  'ChannelChoices',
  {
    endpoint: Optional.String(),
    auth: Optional.String({ description: 'The secret of the subscription, as base64.' }),
    choices: Optional.Unsafe<Choices>({
      type: 'object',
      description: 'Channels to switch on (`true`) or off, by name. Other channels do not change.',
      additionalProperties: { type: 'boolean' },
      maxProperties: maxChannels,
    }),
  },
  { examples: [{ ...exampleProof, choices: { news: false } }] },
);

const answer = Type.Array(
  Type.Named('ReaderChannel', {
    name: Type.String(),
    title: Type.String({ description: 'Title in the first language of Accept-Language, if there is one.' }),
    language: Optional.String({ description: 'Language of the title, if it is known.' }),
    isOn: Type.Boolean({ description: 'For this reader.' }),
  }),
);

const operation: Operation = {
  operationId: 'chooseChannels',
  tag: 'Web Push',
  summary: 'Reads and changes the channels that a reader has on',
  description:
    'The reader is the person in the subscriber token, if the request has one. Otherwise it is the reader of the subscription: its user, if it ' +
    'has one. Choices are stored durably before the response, which contains all channels with the change applied. A wrong `auth` changes ' +
    'nothing and gets the same answer as a reader who has chosen nothing.',
  responses: {
    200: contentResponse('application/json', 'The channels, in the order of their names.', answer, [
      { name: 'news', title: 'Nachrichten', language: 'de', isOn: false },
      { name: 'offers', title: 'Special offers', isOn: true },
    ]),
  },
  errors: ['ERR_SUBSCRIBER_TOKEN', 'ERR_RATE_LIMITED', 'ERR_STORE_UNAVAILABLE'],
};

export function addChannelsRoute(app: ServiceApp, settings: Settings): void {
  const { store, subscriberTokens, registrationsPerMinute = defaultRegistrationsPerMinute } = settings;
  const readSubscriberToken = createReadSubscriberToken(subscriberTokens);

  app.post(
    '/webPush/channels',
    {
      schema: { body },
      config: {
        operation: { ...operation, security: subscriberTokens && [{}, { subscriberToken: [] }] },
        rateLimit: limitPerMinute(registrationsPerMinute, 'ask for channels'),
      },
    },
    async (request, reply) => {
      const signedIn = await readSubscriberToken(request, reply);
      const reader = await findReader(request.body, signedIn?.user, reply, store);
      const { held, known } = await choose(reader, request.body.choices, store);
      return sendJson(
        reply,
        known.map(toAnswer(held, readFirstLanguage(request.headers['accept-language']))),
      );
    },
  );
}

/**
 * @param user the signed-in user
 * @returns undefined if nobody is signed in and no stored subscription has the given endpoint and `auth`
 * @throws {DeskbellError} ERR_SUBSCRIBER_TOKEN if nobody is signed in and the request has no endpoint or no `auth`
 */
async function findReader(
  { endpoint, auth }: ValueOf<typeof body>,
  user: string | undefined,
  reply: Pick<FastifyReply, 'header'>,
  { subscriptions }: Store,
): Promise<Reader | undefined> {
  if (endpoint === undefined || auth === undefined) {
    if (user !== undefined) return { user };
    reply.header('www-authenticate', 'Bearer'); // RFC 6750 §3
    throw new DeskbellError(
      'ERR_SUBSCRIBER_TOKEN',
      'Nothing says whose channels are meant: send "endpoint" and "auth" of the subscription, or a subscriber token if this service takes them.',
    );
  }
  const row = await subscriptions.findByEndpoint(endpoint);
  const authBytes = decodeBase64(auth);
  const own = row && authBytes && isSameSecret(row.auth, authBytes) ? row : undefined;
  // if the person has not chosen anything, choices made in this browser before sign-in apply
  return user === undefined ? own : { ...own, user };
}

/**
 * Stores choices, if there are any.
 *
 * @returns the reader's choices, and the channels read before; a channel may be removed at any time
 * @throws {DeskbellError} ERR_REQUEST_INVALID names a choice that is wrong, or a channel that does not exist
 */
async function choose(
  reader: Reader | undefined,
  given: Choices = {},
  { channels, readers }: Store,
): Promise<{ readonly held: Choices | undefined; readonly known: readonly Channel[] }> {
  try {
    const choices = checkChoices(given, '/choices');
    const known = await channels.list();
    checkKnownChoices(choices, known, '/choices');
    const isChange = Object.keys(choices).length > 0;
    const held = reader && (await (isChange ? readers.choose(reader, choices) : readers.choices(reader)));
    return { held, known };
  } catch (cause) {
    if (!(cause instanceof DeskbellError) || cause.fields.length === 0) throw cause;
    throw new DeskbellError('ERR_REQUEST_INVALID', cause.message, { fields: cause.fields, cause });
  }
}

const toAnswer =
  (held: Choices | undefined, wanted: string | undefined) =>
  ({ name, title, titles, isOnByDefault }: Channel) => {
    const language = chooseLanguage(wanted, new Set(Object.keys(titles)));
    return {
      name,
      title: language === undefined ? title : lookUp(titles, language)!,
      language,
      isOn: lookUp(held, name) ?? isOnByDefault,
    };
  };

/** Browsers name the preferred language first, as in `navigator.language`. */
const readFirstLanguage = (header = ''): string | undefined =>
  readLanguage(/^[\w-]+/.exec(header.trim())?.[0]);
