// POST /webPush stores a subscription, durably before its 200; DELETE /webPush removes it.
import rateLimit from '@fastify/rate-limit';
import * as Type from 'typebox';

import { DeskbellError } from '../../errors/deskbell-error.ts';
import { decodeBase64 } from '../../protocol/base64.ts';
import { parseSubscription } from '../../protocol/subscription.ts';
import type { ServiceApp } from '../http/service-app.ts';
import { contentResponse, emptyResponse, bodyErrors, problemResponses } from '../http/openapi-responses.ts';
import { sendJson } from '../http/json-text.ts';
import type { Settings } from '../options.ts';

const acknowledgement = 'Subscription received.';

/** From RFC 8291 §5. */
const exampleSubscription = {
  endpoint: 'https://updates.push.services.mozilla.com/wpush/v2/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV',
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
};

const keys = {
  p256dh: Type.String({ description: 'base64 of a 65-byte P-256 point.' }),
  auth: Type.String({ description: 'base64 of 16 bytes.' }),
};
const endpoint = Type.String({ description: 'Verbatim as the browser gave it.', maxLength: 4096 });

const subscriptionBody = Type.Union(
  [Type.Object({ endpoint, ...keys }), Type.Object({ endpoint, keys: Type.Object(keys) })],
  {
    description: 'The three values, or what PushSubscription.toJSON() gives. Further members are ignored.',
    examples: [exampleSubscription],
  },
);

const removalBody = Type.Object(
  { endpoint: Type.String(), auth: keys.auth },
  { examples: [{ endpoint: exampleSubscription.endpoint, auth: exampleSubscription.auth }] },
);

const postSchema = {
  tags: ['Web Push'],
  summary: 'Stores a subscription',
  description:
    'The subscription is stored durably before the answer. The same endpoint again replaces its keys.',
  security: [{}, { session: [], csrfToken: [] }],
  body: subscriptionBody,
  response: {
    200: contentResponse('application/json', 'Stored.', Type.String(), acknowledgement),
    ...problemResponses(
      'ERR_SUBSCRIPTION_INVALID',
      ...bodyErrors,
      'ERR_CSRF',
      'ERR_RATE_LIMITED',
      'ERR_STORE_UNAVAILABLE',
    ),
  },
};
const deleteSchema = {
  tags: ['Web Push'],
  summary: 'Removes a subscription',
  description: 'A wrong `auth` removes nothing; the answer does not tell.',
  security: [{}, { session: [], csrfToken: [] }],
  body: removalBody,
  response: {
    204: emptyResponse('There is no such subscription, or none with this `auth`, now.'),
    ...problemResponses(...bodyErrors, 'ERR_CSRF', 'ERR_STORE_UNAVAILABLE'),
  },
};

export async function addWebPushRoutes(app: ServiceApp, settings: Settings): Promise<void> {
  const { store, vapidPublicKey, endpointPolicy, log, onSubscribe } = settings;
  const { redactSubscriptions, registrationsPerMinute } = settings;
  await app.register(rateLimit, { global: false, errorResponseBuilder: tooManyRegistrations });

  app.post(
    '/webPush',
    {
      schema: postSchema,
      // Checked by `parseSubscription`, which knows more than a schema can say and names every wrong field at once.
      validatorCompiler: () => () => true,
      config: {
        rateLimit: registrationsPerMinute !== 'off' && { max: registrationsPerMinute, timeWindow: 60_000 },
      },
    },
    async (request, reply) => {
      const subscription = parseSubscription(request.body, endpointPolicy);
      const { p256dh, auth } = 'auth' in request.body ? request.body : request.body.keys;
      log.info(
        redactSubscriptions
          ? { event: 'subscription', endpoint: `${new URL(subscription.endpoint).origin}/…` }
          : { event: 'subscription', endpoint: subscription.endpoint, p256dh, auth },
      );
      const stored = await store.subscriptions.put(subscription, vapidPublicKey);
      await onSubscribe?.(stored, request);
      return sendJson(reply, acknowledgement);
    },
  );

  app.delete('/webPush', { schema: deleteSchema }, async (request, reply) => {
    const authBytes = decodeBase64(request.body.auth);
    // Text that is not base64 is a wrong `auth` like any other; whether there was a row is not told.
    if (authBytes) await store.subscriptions.removeByEndpoint(request.body.endpoint, authBytes);
    return reply.code(204).send();
  });
}

function tooManyRegistrations(_request: unknown, { max, ttl }: { max: number; ttl: number }): DeskbellError {
  return new DeskbellError(
    'ERR_RATE_LIMITED',
    `One client address may register ${max} times a minute; wait ${Math.ceil(ttl / 1000)} s.`,
  );
}
