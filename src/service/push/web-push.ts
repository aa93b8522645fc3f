// The routes POST and DELETE /webPush, and the schemas of their bodies.
import type { FastifyRequest } from 'fastify';
import { readTimeZone } from '../../audience/reader-facts.ts';
import { contentResponse, type Operation } from '../../http/description/operation.ts';
import { sendJson } from '../../http/json-body.ts';
import { Optional, type ServiceApp, Type } from '../../http/schema.ts';
import { decodeBase64 } from '../../protocol/bytes.ts';
import { maxEndpointLength } from '../../protocol/endpoint-policy.ts';
import { readLanguage } from '../../protocol/language.ts';
import { keyPatterns, parseSubscription } from '../../protocol/subscription.ts';
import type { StoredSubscription } from '../../store/subscriptions.ts';
import type { Settings } from '../options.ts';
import { defaultRegistrationsPerMinute, limitPerMinute } from '../../http/client-limits.ts';
import {
  createRegister,
  formerSubscriptionHeader,
  invitationHeader,
  readFormerSubscription,
} from './registration.ts';
import { createReadSubscriberToken } from './subscriber-token.ts';
import { readVapidKey, type ReadVapidKeys, vapidKeyHeader } from './vapid-key.ts';

/** From RFC 8291 §5. */
const exampleSubscription = {
  endpoint: 'https://updates.push.services.mozilla.com/wpush/v2/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV',
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
};

const keySchemas = {
  p256dh: Type.String({
    description: 'A 65-byte uncompressed point on P-256 as base64, standard or URL-safe, padded or not.',
    pattern: keyPatterns.p256dh,
    format: 'p256-point',
  }),
  auth: Type.String({
    description: '16 bytes as base64, standard or URL-safe, padded or not.',
    pattern: keyPatterns.auth,
  }),
};

/** A value that is not a language or time zone is treated as absent, so that no subscription is lost because of it. */
const readerFacts = {
  language: Optional.Unsafe<unknown>({
    description: 'The browser’s language: a BCP 47 tag such as `de-AT`. Any other value counts as absent.',
  }),
  timeZone: Optional.Unsafe<unknown>({
    description:
      'The browser’s time zone: an IANA name such as `Europe/Vienna`. Any other value counts as absent.',
  }),
};

/** Excludes whatever a URL parser would escape or resolve, such as dot segments, even escaped ones. */
const pathPattern = String.raw`(?![^?]*/(?:\.|%2[eE]){1,2}(?:[/?]|$))(?:/[\w.~!$&'()*+,;=:@%|/-]*)?(?:\?[\w.~!$&()*+,;=:@%|/?-]+)?`;

function createSubscriptionBody(originPattern: string) {
  const endpoint = Type.String({
    description:
      'As the browser gave it: https, of a known push service, one that the operator added, or any public host where the operator ' +
      'admits those.',
    maxLength: maxEndpointLength,
    pattern: `^${originPattern}${pathPattern}$`,
  });
  return Type.Model(
    'PushSubscription',
    Type.Union(
      [
        Type.Named('SubscriptionValues', { endpoint, ...keySchemas, ...readerFacts }),
        Type.Named('SubscriptionOfBrowser', {
          endpoint,
          keys: Type.Named('SubscriptionKeys', keySchemas),
          p256dh: Type.Optional(Type.Never()),
          auth: Type.Optional(Type.Never()),
          ...readerFacts,
        }),
      ],
      {
        description:
          'The three values, or the result of PushSubscription.toJSON(). If language and time zone are absent, they do not change. ' +
          'Further members are ignored.',
        examples: [{ ...exampleSubscription, language: 'de-AT', timeZone: 'Europe/Vienna' }],
      },
    ),
  );
}

export const exampleProof = { endpoint: exampleSubscription.endpoint, auth: exampleSubscription.auth };

const removalBody = Type.Named(
  'SubscriptionProof',
  {
    endpoint: Type.String(),
    auth: Type.String({ description: 'The secret of the subscription, as base64.' }),
  },
  { examples: [exampleProof] },
);

// POST /webPush stores a subscription durably before it responds. DELETE /webPush removes the subscription. DELETE
// /webPush/user keeps the subscription, and removes only its user and tags. Some proxies drop or refuse the body of a
// DELETE, so each DELETE also has a path for POST.

const acknowledgement = 'Subscription received.';

const postOperation: Operation = {
  operationId: 'subscribe',
  tag: 'Web Push',
  summary: 'Stores a subscription',
  description:
    'The subscription is stored durably before the response. A request with different keys for a stored endpoint gets a 409, unless the ' +
    'request has the stored `auth` or a subscriber token of its user. A subscriber token replaces user and tags; without a token, ' +
    'they do not change.',
  headers: {
    [vapidKeyHeader]: {
      description:
        'The public key that the browser subscribed with. Default: the current key. A key that the service does not have gets a 409.',
      schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{87}$' },
    },
    [formerSubscriptionHeader]: {
      description:
        'JSON with `endpoint` and `auth` of the subscription that this one replaces. Its user and tags move to the new subscription. ' +
        'With the same endpoint, this permits changing the keys.',
      schema: {
        type: 'string',
        pattern: String.raw`^\{"endpoint":"https:[\w.:/?&=%+-]+",(?:"p256dh":"[\w+/=-]+",)?"auth":"(?:[A-Za-z0-9+/]{22}|[A-Za-z0-9_-]{22})(?:==)?"\}$`,
      },
    },
    [invitationHeader]: {
      description:
        'The token of an invitation, which this request consumes. The subscription then belongs to the invited user. If only ' +
        'invited browsers may register, a new subscription needs this header or a subscriber token.',
      schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{22}$' },
    },
  },
  responses: { 200: contentResponse('application/json', 'Stored.', Type.String(), acknowledgement) },
  errors: [
    'ERR_SUBSCRIPTION_INVALID',
    'ERR_VAPID_KEY_UNKNOWN',
    'ERR_ENDPOINT_IN_USE',
    'ERR_SUBSCRIBER_TOKEN',
    'ERR_NOT_INVITED',
    'ERR_RATE_LIMITED',
    'ERR_PUSH_SERVICE_LIMIT',
    'ERR_SUBSCRIPTION_LIMIT',
    'ERR_STORE_UNAVAILABLE',
  ],
};
const removal = (operationId: string, summary: string, what: string, done: string): Operation => ({
  operationId,
  tag: 'Web Push',
  summary,
  description: `A wrong \`auth\` ${what} nothing; the response does not reveal this.`,
  responses: { 204: { description: `There is no such subscription, or none with this \`auth\`, ${done}.` } },
  errors: ['ERR_STORE_UNAVAILABLE'],
});
const deleteOperation = removal('unsubscribe', 'Removes a subscription', 'removes', 'now');
const signOutOperation = removal(
  'signOut',
  'Clears user and tags of a subscription',
  'clears',
  'or it is anonymous now',
);

export function addWebPushRoutes(app: ServiceApp, settings: Settings, readVapidKeys: ReadVapidKeys): void {
  const {
    store,
    endpointPolicy,
    onUnsubscribe,
    registrationsPerMinute = defaultRegistrationsPerMinute,
  } = settings;
  const readSubscriberToken = createReadSubscriberToken(settings.subscriberTokens);
  const register = createRegister(settings);

  app.post(
    '/webPush',
    {
      schema: { body: createSubscriptionBody(endpointPolicy.originPattern) },
      // `parseSubscription` checks more than a schema can, and names every wrong field at once.
      validatorCompiler: () => () => true,
      config: {
        operation: {
          ...postOperation,
          security: settings.subscriberTokens && [{}, { subscriberToken: [] }],
        },
        rateLimit: limitPerMinute(registrationsPerMinute, 'register'),
      },
    },
    async (request, reply) => {
      const subscription = parseSubscription(request.body, endpointPolicy);
      const vapidPublicKey = readVapidKey(request.headers, await readVapidKeys());
      const former = readFormerSubscription(request.headers);
      const assign = await readSubscriberToken(request, reply);
      const { language, timeZone } = request.body;
      const keys = request.body.auth === undefined ? request.body.keys : request.body;
      const facts = { language: readLanguage(language), timeZone: readTimeZone(timeZone) };
      const proof = { former, provenUser: assign?.user };
      const registration = { subscription, vapidPublicKey, assign, ...proof, ...facts };
      await register(registration, keys, request, reply);
      return sendJson(reply, acknowledgement);
    },
  );

  /** An `auth` that is not base64 counts as wrong. The response never reveals whether the subscription exists. */
  const addRemoval = (path: string, postPath: string, operation: Operation, remove: Removal): void => {
    const postForm = {
      ...operation,
      operationId: `${operation.operationId}ByPost`,
      summary: `${operation.summary}, as DELETE ${path} does, for proxies that drop the body of DELETE`,
    };
    for (const [method, url, described] of [
      ['DELETE', path, operation],
      ['POST', postPath, postForm],
    ] as const) {
      app.route({
        method,
        url,
        schema: { body: removalBody },
        config: { operation: described },
        handler: async (request, reply) => {
          const { endpoint, auth } = request.body;
          const authBytes = decodeBase64(auth);
          if (authBytes !== undefined) await remove(endpoint, authBytes, request);
          return reply.code(204).send();
        },
      });
    }
  };
  addRemoval('/webPush', '/webPush/unsubscribe', deleteOperation, async (endpoint, auth, request) => {
    const stored = onUnsubscribe && (await store.subscriptions.findByEndpoint(endpoint));
    const isRemoved = await store.subscriptions.removeByEndpoint(endpoint, auth);
    if (isRemoved && stored !== undefined) await reportRemoval(stored, request, settings);
  });
  addRemoval('/webPush/user', '/webPush/sign-out', signOutOperation, async (endpoint, auth) => {
    await store.people.signOut(endpoint, auth);
  });
}

type Removal = (endpoint: string, auth: Uint8Array, request: FastifyRequest) => Promise<void>;

/**
 * Tells the application that a browser unsubscribed. Errors of the application's callback are only logged, because the
 * response must not reveal whether the subscription was stored.
 */
async function reportRemoval(
  stored: StoredSubscription,
  request: FastifyRequest,
  { onUnsubscribe, log }: Settings,
): Promise<void> {
  try {
    await onUnsubscribe?.(stored, request);
  } catch (error) {
    log.error({ event: 'fault', method: request.method, url: request.originalUrl, error });
  }
}
