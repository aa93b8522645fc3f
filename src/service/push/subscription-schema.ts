// The bodies of POST and DELETE /webPush as schemas.
import * as Type from 'typebox';

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

export const subscriptionBody = Type.Union(
  [Type.Object({ endpoint, ...keys }), Type.Object({ endpoint, keys: Type.Object(keys) })],
  {
    description: 'The three values, or what PushSubscription.toJSON() gives. Further members are ignored.',
    examples: [exampleSubscription],
  },
);

export const removalBody = Type.Object(
  { endpoint: Type.String(), auth: keys.auth },
  { examples: [{ endpoint: exampleSubscription.endpoint, auth: exampleSubscription.auth }] },
);
