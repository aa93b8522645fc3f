// Changes that break the browser's side.
import type { ClaimChanges } from './source-change.ts';

const worker = 'src/client/service-worker.ts';
const api = 'src/client/service-api.ts';
const clientError = 'src/client/client-error.ts';

export const browser: ClaimChanges = {
  'The page gets the push message as a stream and shows it with title, body, tag and requireInteraction': [
    {
      what: 'open pages do not get the message',
      file: worker,
      search: 'page.postMessage({ deskbell: message })',
      replacement: 'void page',
    },
    {
      what: 'the notification does not stay',
      file: worker,
      search: 'requireInteraction: true',
      replacement: 'requireInteraction: false',
    },
    {
      what: 'the notification has no body',
      file: worker,
      search: 'body: message.message',
      replacement: "body: ''",
    },
  ],
  'A notification with the same tag replaces the earlier one': [
    {
      what: 'each notification has a tag of its own',
      file: worker,
      search: "tag: 'deskbell'",
      replacement: 'tag: String(Math.random())',
    },
  ],
  'The background worker receives the message, with no page open as well': [
    {
      what: 'nothing is shown while no page is open',
      file: worker,
      search: 'await worker.registration.showNotification(',
      replacement: 'if ((await openPages()).length > 0) await worker.registration.showNotification(',
    },
  ],
  'The client sends three strings, p256dh and auth in standard base64 with padding': [
    {
      what: 'the client sends the shape of PushSubscription.toJSON()',
      file: api,
      search: 'return JSON.stringify({',
      replacement: 'if (Math) return JSON.stringify(subscription); return JSON.stringify({',
    },
    {
      what: 'the client sends URL-safe base64',
      file: api,
      search: 'return btoa(String.fromCharCode(...new Uint8Array(bytes ?? [])));',
      replacement:
        'return btoa(String.fromCharCode(...new Uint8Array(bytes ?? []))).replaceAll("+", "-").replaceAll("/", "_");',
    },
  ],
  'A refusal by the server is written to the browser’s console': [
    {
      what: 'only a server that cannot be reached is written',
      file: clientError,
      search: "console.error('Deskbell:'",
      replacement: "if (failure.reason === 'server-unreachable') console.error('Deskbell:'",
    },
  ],
  'A failure to reach the server is written to the browser’s console': [
    {
      what: 'nothing is written',
      file: clientError,
      search: "console.error('Deskbell:'",
      replacement: "void ('Deskbell:'",
    },
  ],
};
