// Changes that break sending.
import { changesOf, type ClaimChanges } from './source-change.ts';

const request = 'src/protocol/request.ts';
const subject = 'src/protocol/vapid.ts';
const authorizer = 'src/protocol/vapid.ts';
const webPush = 'src/service/push/web-push.ts';

const register = 'const registration = { subscription,';

export const sender: ClaimChanges = {
  'Server-side code sends to the subscription that a client has registered, and the client gets it': [
    ...changesOf('src/delivery/message-path/destinations.ts', {
      'the message goes to another path of the push service': ['endpoint.slice(root.length - 1)', "'/'"],
    }),
    ...changesOf('src/protocol/aes128gcm.ts', {
      'the keying material is not the one of RFC 8291': ["('WebPush: info\\0')", "('WebPush:info\\0')"],
    }),
    ...changesOf(webPush, {
      'the server stores a registration without its auth': [
        register,
        'const registration = { subscription: { ...subscription, auth: new Uint8Array(16) },',
      ],
    }),
  ],
  'The payload is the bytes of the JSON object {title, message}': changesOf(
    'src/protocol/message/measure-message.ts',
    {
      'the payload has a further member': [
        'whole = { title, message: text,',
        "whole = { title, message: text, lang: 'de',",
      ],
      'the payload is not UTF-8': [': whole));', ": whole), 'latin1');"],
    },
  ),
  'The result is the push service’s HTTP response': changesOf('src/delivery/single/single-messages.ts', {
    'the status of the result is always 200': [': result.response', ': { ...result.response, status: 200 }'],
  }),
  'One push request is sent to the subscription’s endpoint': [
    ...changesOf('src/delivery/message-path/destinations.ts', {
      'the path of the endpoint is decoded': [
        'endpoint.slice(root.length - 1)',
        'decodeURIComponent(endpoint.slice(root.length - 1))',
      ],
    }),
    ...changesOf(request, {
      'the content encoding is the one of an old draft': [
        "'content-encoding': 'aes128gcm'",
        "'content-encoding': 'aesgcm'",
      ],
    }),
    ...changesOf(authorizer, {
      'the token is for the host without its port': ['aud: origin,', 'aud: origin.replace(/:\\d+$/, ""),'],
    }),
    ...changesOf('src/delivery/message-path/message-path.ts', {
      'the request is sent twice': ['request, done', 'request, () => {}); transport.send(request, done'],
    }),
  ],
  'Authentication to the push service is by VAPID: another key pair is refused': [
    ...changesOf(request, {
      'requests are not signed': ['    authorization,\n', ''],
    }),
    ...changesOf(authorizer, {
      'the token is signed by a pair of its own': [
        'k=${keys.publicKey}`',
        'k=BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8`', // of RFC 8291 §5
      ],
    }),
  ],
  'The subject is a contact URI of mailto: form, set on the sender': [
    ...changesOf(subject, {
      'ftp: is accepted': ['/^https:\\/\\//i.test(subject)', '/^(https|ftp):\\/\\//i.test(subject)'],
      'any URI is accepted': ["throw badSubject('is not a mailto: or https: URI');", 'return;'],
    }),
    ...changesOf(authorizer, {
      'the subject is not the one that is set': ['sub = subject.', "sub = 'mailto:somebody@example.org'."],
    }),
  ],
  'The service sends no webhooks: a registration makes no request to the endpoint': changesOf(webPush, {
    'a request is sent to the endpoint before storing': [
      register,
      `await fetch(subscription.endpoint, { method: 'POST' }); ${register}`,
    ],
    'a request is sent to the endpoint a second after storing': [
      register,
      `setTimeout(() => void fetch(subscription.endpoint, { method: 'POST' }), 1000); ${register}`,
    ],
  }),
};
