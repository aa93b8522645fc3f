// The bodies of POST and DELETE /webPush as schemas; only a format can say that p256dh is a point on the curve.
import { Type } from '../../http/schema.ts';

import { maxEndpointLength } from '../../protocol/endpoint-policy.ts';
import { keyPatterns } from '../../protocol/subscription.ts';

/** From RFC 8291 §5. */
const exampleSubscription = {
  endpoint: 'https://updates.push.services.mozilla.com/wpush/v2/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV',
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
};

const keys = {
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

/** A value that is no language or time zone counts as absent: no subscription is lost for it. */
const readerFacts = {
  language: Type.Optional(
    Type.Unsafe<unknown>({
      description: 'Of the browser: a BCP 47 language tag such as `de-AT`. Another value counts as absent.',
    }),
  ),
  timeZone: Type.Optional(
    Type.Unsafe<unknown>({
      description:
        'Of the browser: an IANA time zone such as `Europe/Vienna`. Another value counts as absent.',
    }),
  ),
};

/** Excludes what a URL parser would escape or resolve: no dot segments, plain or escaped. */
const pathPattern = String.raw`(?![^?]*/(?:\.|%2[eE]){1,2}(?:[/?]|$))(?:/[\w.~!$&'()*+,;=:@%|/-]*)?(?:\?[\w.~!$&()*+,;=:@%|/?-]+)?`;

export function createSubscriptionBody(originPattern: string) {
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
        Type.Model('SubscriptionValues', Type.Object({ endpoint, ...keys, ...readerFacts })),
        Type.Model(
          'SubscriptionOfBrowser',
          Type.Object({
            endpoint,
            keys: Type.Model('SubscriptionKeys', Type.Object(keys)),
            p256dh: Type.Optional(Type.Never()),
            auth: Type.Optional(Type.Never()),
            ...readerFacts,
          }),
        ),
      ],
      {
        description:
          'The three values, or what PushSubscription.toJSON() gives. Absent, language and time zone stay as they are. ' +
          'Further members are ignored.',
        examples: [{ ...exampleSubscription, language: 'de-AT', timeZone: 'Europe/Vienna' }],
      },
    ),
  );
}

export const exampleProof = { endpoint: exampleSubscription.endpoint, auth: exampleSubscription.auth };

export const removalBody = Type.Model(
  'SubscriptionProof',
  Type.Object(
    { endpoint: Type.String(), auth: Type.String({ description: 'Of the subscription, as base64.' }) },
    { examples: [exampleProof] },
  ),
);
