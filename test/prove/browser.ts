// Changes that break the browser's side.
import { changesOf, type ClaimChanges } from './source-change.ts';

const worker = 'src/client/worker/show.ts';
const api = 'src/client/service-api.ts';
const clientError = 'src/client/client-error.ts';

export const browser: ClaimChanges = {
  'The page gets the push message as a stream and shows it with title, body, tag and requireInteraction':
    changesOf(worker, {
      'open pages do not get the message': ['passOn(message, page);', 'void page;'],
      'the notification does not stay': ['requireInteraction: true', 'requireInteraction: false'],
      'the notification has no body': ['body: message.message', "body: ''"],
    }),
  'A notification with the same tag replaces the earlier one': changesOf(worker, {
    'each notification has a tag of its own': ["tag: 'deskbell'", 'tag: String(Math.random())'],
  }),
  'The background worker receives the message, with no page open as well': changesOf(worker, {
    'nothing is shown while no page is open': [
      'await worker.registration.showNotification(',
      'if ((await openPages()).length > 0) await worker.registration.showNotification(',
    ],
  }),
  'The client sends three strings, p256dh and auth in standard base64 with padding': changesOf(api, {
    'the client sends the shape of PushSubscription.toJSON()': [
      'return JSON.stringify({',
      'if (Math) return JSON.stringify(subscription); return JSON.stringify({',
    ],
    'the client sends URL-safe base64': [
      'return btoa(String.fromCharCode(...new Uint8Array(bytes!)));',
      'return btoa(String.fromCharCode(...new Uint8Array(bytes!))).replaceAll("+", "-").replaceAll("/", "_");',
    ],
  }),
  'A refusal by the server is written to the browser’s console': changesOf(clientError, {
    'only a server that cannot be reached is written': [
      "console.error('Deskbell:'",
      "if (failure.reason === 'server-unreachable') console.error('Deskbell:'",
    ],
  }),
  'A failure to reach the server is written to the browser’s console': changesOf(clientError, {
    'nothing is written': ["console.error('Deskbell:'", "void ('Deskbell:'"],
  }),
};
