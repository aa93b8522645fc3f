// Changes that break sending.
import type { ClaimChanges } from './source-change.ts';

const request = 'src/protocol/request.ts';
const vapid = 'src/protocol/vapid.ts';
const webPush = 'src/service/push/web-push.ts';

const putSubscription = 'const stored = await store.subscriptions.put(subscription';

export const sender: ClaimChanges = {
  'Server-side code sends to the subscription that a client has registered, and the client gets it': [
    {
      what: 'the message goes to another path of the push service',
      file: 'src/delivery/destinations.ts',
      search: 'endpoint.slice(root.length - 1)',
      replacement: "'/'",
    },
    {
      what: 'the keying material is not the one of RFC 8291',
      file: 'src/protocol/keying-material.ts',
      search: "Buffer.from('WebPush: info\\0')",
      replacement: "Buffer.from('WebPush:info\\0')",
    },
    {
      what: 'the server stores a registration without its auth',
      file: webPush,
      search: putSubscription,
      replacement:
        'const stored = await store.subscriptions.put({ ...subscription, auth: new Uint8Array(16) }',
    },
  ],
  'The payload is the bytes of the JSON object {title, message}': [
    {
      what: 'the payload has a further member',
      file: 'src/protocol/message/encode-payload.ts',
      search: 'whole = { title, message: text,',
      replacement: "whole = { title, message: text, lang: 'de',",
    },
    {
      what: 'the payload is not UTF-8',
      file: 'src/protocol/message/encode-payload.ts',
      search: ': whole));',
      replacement: ": whole), 'latin1');",
    },
  ],
  'The result is the push service’s HTTP response': [
    {
      what: 'the status of the result is always 200',
      file: 'src/delivery/post.ts',
      search: 'const { response } = result;',
      replacement: 'const response = { ...result.response, status: 200 };',
    },
  ],
  'One push request is sent to the subscription’s endpoint': [
    {
      what: 'the path of the endpoint is decoded',
      file: 'src/delivery/destinations.ts',
      search: 'endpoint.slice(root.length - 1)',
      replacement: 'decodeURIComponent(endpoint.slice(root.length - 1))',
    },
    {
      what: 'the content encoding is the one of an old draft',
      file: request,
      search: "'content-encoding': 'aes128gcm'",
      replacement: "'content-encoding': 'aesgcm'",
    },
    {
      what: 'the token is for the host without its port',
      file: vapid,
      search: 'aud: origin,',
      replacement: 'aud: origin.replace(/:\\d+$/, ""),',
    },
    {
      what: 'the request is sent twice',
      file: 'src/delivery/post.ts',
      search: 'transport.send(request, (result) =>',
      replacement: 'transport.send(request, () => {}); transport.send(request, (result) =>',
    },
  ],
  'Authentication to the push service is by VAPID: another key pair is refused': [
    {
      what: 'requests are not signed',
      file: request,
      search: '    authorization,\n',
      replacement: '',
    },
    {
      what: 'the token is signed by a pair of its own',
      file: vapid,
      search: 'k=${keys.publicKey}`',
      replacement: 'k=${generateVapidKeys().publicKey}`',
    },
  ],
  'The subject is a contact URI of mailto: form, set on the sender': [
    {
      what: 'ftp: is accepted',
      file: vapid,
      search: '/^https:\\/\\//i.test(subject)',
      replacement: '/^(https|ftp):\\/\\//i.test(subject)',
    },
    {
      what: 'any URI is accepted',
      file: vapid,
      search: "if (host === undefined) throw badSubject('is not a mailto: or https: URI');",
      replacement: 'if (host === undefined) return;',
    },
    {
      what: 'the subject is not the one that is set',
      file: vapid,
      search: 'const sub = subject.',
      replacement: "const sub = 'mailto:somebody@example.org'.",
    },
  ],
  'The service sends no webhooks: a registration makes no request to the endpoint': [
    {
      what: 'a request is sent to the endpoint before storing',
      file: webPush,
      search: putSubscription,
      replacement: `await fetch(subscription.endpoint, { method: 'POST' }); ${putSubscription}`,
    },
    {
      what: 'a request is sent to the endpoint a second after storing',
      file: webPush,
      search: putSubscription,
      replacement: `setTimeout(() => void fetch(subscription.endpoint, { method: 'POST' }), 1000); ${putSubscription}`,
    },
  ],
};
