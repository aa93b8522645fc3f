// Promises of docs/client.md.
import type { DocumentedPromise } from '../promise.ts';

const demoPage = 'test/browser/demo-page-suite.ts';
const cookies = 'test/browser/cookie-suite.ts';
const request = 'src/client/request-service.ts';
const ownWorkers = 'test/browser/own-worker-suite.ts';
const library = 'test/client/page-library.test.ts';
const serviceApi = 'src/client/service-api.ts';
const subscription = 'src/client/subscription.ts';
const timeLimit = 'src/client/time-limit.ts';
const page = 'src/client/client.ts';

export const client: readonly DocumentedPromise[] = [
  {
    claim: 'Where the service has other keys for its endpoint, the page subscribes anew',
    test: {
      file: demoPage,
      title: 'where the service has other keys for its endpoint, the page subscribes anew',
    },
    changes: {
      'src/client/subscription.ts': {
        'it sends the same subscription again': [
          'if (existing && !isRefused && isUsable',
          'if (existing && isUsable',
        ],
      },
    },
  },
  {
    claim: 'Where the service has other keys for a renewed subscription, the service worker makes another',
    test: {
      file: demoPage,
      title: 'when the push service drops a subscription and the service has other keys for the next one',
    },
    changes: {
      'src/client/subscription.ts': {
        'it gives up': ['if (!isRefused && status === 409) return reconcile(register, service, true);', ''],
      },
    },
  },
  {
    claim: 'Page library and service worker send the cookies of their own origin',
    test: { file: cookies, title: 'page library and service worker send the cookies of their own origin' },
    changes: { [request]: { 'they send none': ["credentials: 'same-origin'", "credentials: 'omit'"] } },
  },
  {
    claim: 'A login with basic authentication in front of the page lets page library and service worker in',
    test: { file: cookies, title: 'a login with basic authentication in front of the page' },
    changes: {
      [request]: { 'they send no credentials': ["credentials: 'same-origin'", "credentials: 'omit'"] },
      'src/client/resolve-address.ts': { 'user and password stay in addresses': ["base.password = '';", ''] },
    },
  },
  {
    claim: 'No cookie goes to another origin',
    test: { file: cookies, title: 'no cookie goes to a service on another origin' },
    changes: { [request]: { 'they go anywhere': ["credentials: 'same-origin'", "credentials: 'include'"] } },
  },
  {
    claim: 'A request that is refused for the session cookie of the service is repeated without cookies',
    test: { file: cookies, title: 'a refused request is repeated once without cookies' },
    changes: {
      [request]: {
        'it fails': ["return request(url, { ...init, credentials: 'omit' });", 'return response;'],
        'it is repeated with them': [
          "return request(url, { ...init, credentials: 'omit' });",
          'return request(url, init);',
        ],
      },
    },
  },
  {
    claim:
      "A site's own service worker with one line more shows messages, and renews with the page closed and all caches deleted",
    test: { file: ownWorkers, title: "adds Deskbell to the site's own service worker" },
    changes: {
      'src/client/stored-state.ts': {
        'what is stored is lost': ['changes(state) : changes)', 'changes(state) : {})'],
      },
      'src/client/service-worker.ts': {
        'a new version of the site takes effect before its pages are closed': [
          'if ((await readOwnState()).scriptPath !== scriptPath) await',
          'await',
        ],
      },
      'src/client/worker-registration.ts': {
        'it registers a script of its own': [
          'if (!registration || (this.#isGiven &&',
          'if (!(this.#isGiven &&',
        ],
      },
    },
  },
  {
    claim: 'Several registrations on one origin do not mix',
    test: { file: ownWorkers, title: 'two sites on one origin' },
    changes: {
      'src/client/stored-state.ts': {
        'they share what is stored': ["[scope, 'state']", "['state']"],
      },
      'src/client/client.ts': {
        'a page gets the messages of all': ['if (registration?.scope === scope) this', 'this'],
      },
      'src/client/worker/scope.ts': {
        'URLs are relative to the scope': ['(await readOwnState()).pageUrl ?? ', ''],
      },
    },
  },
  {
    claim: 'Where no service worker controls the page, the error names scope and page',
    test: { file: ownWorkers, title: 'where no service worker controls the page' },
    changes: {
      'src/client/worker-registration.ts': {
        'the scopes are left out': ['scopes.length === 0', 'scopes.length >= 0'],
      },
    },
  },
  {
    claim: 'A reader chooses channels on the page /preferences, and the service has the choice',
    test: {
      file: 'test/browser/preferences-suite.ts',
      title: 'a reader switches a channel off and on by keyboard',
    },
    changes: {
      'src/client/client.ts': {
        'a choice that the service did not take is taken for saved': [
          'choices[name] !== !isOn',
          'isOn === isOn',
        ],
      },
      'src/client/preferences/preferences.ts': {
        'a switch stays as nobody has saved it': ['input.checked = !checked;', ''],
      },
    },
  },
  {
    claim: 'Service and push service have 15 seconds each to answer, or what `timeoutMs` says',
    test: { file: library, title: 'service and push service have 15 seconds' },
    changes: {
      [timeLimit]: { 'they have longer': ['defaultTimeoutMs = 15_000', 'defaultTimeoutMs = 20_000'] },
      [subscription]: {
        'the push service has its own time': [
          'withTimeLimit(timeoutMs, work)',
          'withTimeLimit(15_000, work)',
        ],
      },
    },
  },
  {
    claim: 'The option `fetch` takes the place of the browser’s, and `serviceUrl` is a folder',
    test: { file: library, title: 'the option fetch takes the place' },
    changes: {
      [serviceApi]: {
        'it is ignored': ['init as RequestInit, this.#options.fetch)', 'init as RequestInit)'],
      },
      [page]: {
        'a slash is missing': ["if (!service.pathname.endsWith('/')) service.pathname += '/';", ''],
      },
    },
  },
  {
    claim:
      'The client sends language and time zone with the subscription, at each visit, and asks for the key with a new query',
    test: { file: library, title: 'the service gets subscription, language and time zone' },
    changes: {
      [serviceApi]: {
        'the language is left out': ['{ language, timeZone }, headers', '{ timeZone }, headers'],
        'the time zone is left out': ['{ language, timeZone }, headers', '{ language }, headers'],
        'the query is the same': ['`vapidKey?${Date.now()}`', "'vapidKey'"],
        'the key of the subscription is left out': ["'deskbell-vapid-key': vapidKey,", ''],
      },
    },
  },
  {
    claim:
      'A new subscription that the service refuses with 400, 401 or 403 is ended again, and no other is; the page is told why',
    test: { file: library, title: 'a new subscription that the service refuses is ended again' },
    changes: {
      [subscription]: {
        'one without a login stays': ['[400, 401, 403]', '[400, 403]'],
        'one that is not valid stays': ['[400, 401, 403]', '[401, 403]'],
        'one that comes too often is ended': ['[400, 401, 403]', '[400, 401, 403, 429]'],
        'one that is stored is ended': ['!known && [400', '[400'],
      },
      [serviceApi]: { 'the detail is left out': ["answer?.detail ?? 'Check", "'Check"] },
    },
  },
  {
    claim: 'A service that does not answer is told with method and URL, on the console too',
    test: { file: library, title: 'a service that is away is named' },
    changes: {
      [serviceApi]: {
        'the method is left out': [
          '`${method} ${url.origin}${url.pathname}`',
          '`${url.origin}${url.pathname}`',
        ],
        'the console does not have it': [
          "throw reported(new ClientError('server-unreachable'",
          "throw (new ClientError('server-unreachable'",
        ],
      },
    },
  },
  {
    claim: 'After a 409 page library and service worker subscribe again once, which gives a new endpoint',
    test: { file: library, title: 'after a 409 the key is asked for again' },
    changes: {
      [subscription]: { 'they do so on and on': ['!isRefused && status === 409', 'status === 409'] },
    },
  },
  {
    claim: 'Why a browser cannot subscribe is told by `subscribe()` and by `state()`',
    test: { file: library, title: 'each obstacle has its reason' },
    changes: {
      'src/client/support.ts': {
        'an app on the Home Screen is told to be put there': [
          '.standalone === false',
          '.standalone !== undefined',
        ],
        'plain http is none': ['if (!isSecureContext)', 'if (false)'],
        'without Notification there is support': [" && 'Notification' in window", ''],
      },
      [page]: {
        'a question that was closed is an answer': ["permission !== 'granted'", "permission === 'granted'"],
        'the state does not say that they are blocked': [
          "=== 'denied' ? 'permission-denied' :",
          "=== 'denied' ? undefined :",
        ],
      },
    },
  },
  {
    claim: '`state()` says whether the service has confirmed the subscription',
    test: { file: library, title: 'the state has permission' },
    changes: {
      [page]: { 'it always has': ['subscriptionBody(subscription) === this.#service.storedBody', 'true'] },
    },
  },
  {
    claim: 'What was turned off while the service was away is sent at the next page load',
    test: { file: library, title: 'what was turned off while the service was away' },
    changes: {
      [subscription]: {
        'it is not': ['if (!sent) return;', 'if (sent) return;'],
        'it is sent on and on': ['!Object.hasOwn(sent, name)', 'true'],
      },
    },
  },
  {
    claim: 'What was turned off while the service was away does not undo a later choice',
    test: { file: library, title: 'what was turned off while the service was away does not undo' },
    changes: {
      [page]: {
        'it is sent after it': [
          'if (registration && body) await sendChoices',
          'if (!registration && body) await sendChoices',
        ],
      },
    },
  },
  {
    claim: 'What was turned off is kept while the service does not know the subscription',
    test: { file: library, title: 'what was turned off is kept while' },
    changes: {
      [subscription]: {
        'it is forgotten': ['if (channels.some(({ name, isOn }) => sent[name] === !isOn)) return;', ''],
      },
    },
  },
  {
    claim: 'What is turned off while another choice is on its way is sent too',
    test: { file: 'test/client/service-worker.test.ts', title: 'what is turned off while another choice' },
    changes: {
      [subscription]: {
        'it is forgotten with the other': [
          'left.length > 0 ? Object.fromEntries(left) : undefined',
          'undefined',
        ],
      },
    },
  },
  {
    claim: 'A choice that the service cannot take now is kept',
    test: { file: 'test/client/service-worker.test.ts', title: 'a choice that the service cannot take now' },
    changes: {
      [subscription]: {
        'it is given up where the service is busy': [' || status === 429', ''],
        'it is given up where the service has failed': [' || status > 499', ''],
      },
    },
  },
  {
    claim:
      'Relative URLs of a message are relative to the page that subscribed, without its query, whichever page is visited later',
    test: { file: library, title: 'the page that subscribed is kept' },
    changes: {
      [page]: {
        'they are relative to the page that was visited last': [
          'isAsked ? ownPageUrl() : (pageUrl ?? ownPageUrl())',
          'isAsked || pageUrl !== undefined ? ownPageUrl() : (pageUrl ?? ownPageUrl())',
        ],
        'they are relative to the first page that ever subscribed': [
          'isAsked ? ownPageUrl() : (pageUrl ?? ownPageUrl())',
          'pageUrl ?? (isAsked ? ownPageUrl() : ownPageUrl())',
        ],
        'what may be secret in the query is kept': ['return origin + pathname;', 'return location.href;'],
      },
    },
  },
  {
    claim: 'What the browser refuses while it subscribes has the reason `permission-denied`',
    test: { file: library, title: 'what the browser refuses while it subscribes' },
    changes: {
      [subscription]: {
        'it is taken for a push service that does not answer': [
          "if (name === 'NotAllowedError') return permissionDenied(cause);",
          '',
        ],
        'a push service that does not answer is taken for it': [
          "if (name === 'NotAllowedError') return",
          'if (name) return',
        ],
      },
    },
  },
  {
    claim:
      'Reasons tell a browser without a push service, Brave without it and a private window from a network that fails',
    test: { file: library, title: 'what the browser refuses while it subscribes' },
    changes: {
      [subscription]: {
        'a private window is taken for the network': [
          "if (name === 'AbortError' && /permission denied/.test(message))",
          'if (false)',
        ],
        'Brave is any browser': ["if ('brave' in navigator) {", 'if (false) {'],
        'a refusal at once is taken for the network': ['waitedMs > longestRefusalMs', 'true'],
        'a network that fails is taken for a refusal': ['waitedMs > longestRefusalMs', 'false'],
      },
    },
  },
  {
    claim: 'An answer counts only if it is what the service answers',
    test: { file: library, title: 'an answer counts only if it is what the service answers' },
    changes: {
      [serviceApi]: {
        'any success counts': ['if (ok && isAnswer(answer)) return answer;', 'if (ok) return answer;'],
      },
    },
  },
  {
    claim: 'On a server that renders the page the client does nothing, and what is called says why',
    test: { file: library, title: 'on a server a client does nothing, and whatever is called says why' },
    changes: { [page]: { 'it begins there too': ['if (isInBrowser) {', 'if (true) {'] } },
  },
  {
    claim: 'A reader of another provider moves at the next visit',
    test: { file: ownWorkers, title: 'a reader of another provider moves at the next visit' },
    changes: {
      [subscription]: {
        'its subscription is kept': [
          'if (existing && !isRefused && isUsable(existing, applicationServerKey))',
          'if (existing)',
        ],
      },
    },
  },
  {
    claim: 'A reader of another provider stays there as long as the service worker has nothing of Deskbell',
    test: { file: ownWorkers, title: 'a reader of another provider stays there' },
    changes: { [page]: { 'nobody asks the service worker': ['if (isAsked || isNew)', 'if (isAsked)'] } },
  },
  {
    claim: 'The service worker keeps the last 100 notifications, also those that were dismissed',
    test: { file: 'test/client/service-worker.test.ts', title: 'the last notifications are kept' },
    changes: {
      'src/client/history.ts': {
        'it keeps all': ['keys.length - limit', '0'],
        'a click marks all': ['(receivedAtMs ?? entry.receivedAtMs) === entry.receivedAtMs', 'true'],
      },
    },
  },
  {
    claim: '`unsubscribe()` and `signOut()` delete the history',
    test: { file: library, title: 'history gives what the service worker has kept' },
    changes: {
      [page]: {
        'who signs out leaves it': ['if (registration) await clearHistory(registration.scope);', ''],
        'who unsubscribes leaves it': ['          await clearHistory(registration.scope);\n', ''],
      },
    },
  },
  {
    claim: 'Where a page load subscribes again, the service gets the former subscription and removes its row',
    test: { file: library, title: 'who was subscribed is subscribed anew' },
    changes: {
      [subscription]: { 'the former row stays': ['if (former) await service.remove(former);', ''] },
      [serviceApi]: {
        'the former one is not named': ["...(former && { 'deskbell-former-subscription': former }),", ''],
      },
    },
  },
  {
    claim: 'A page load subscribes nobody who has unsubscribed or who blocks notifications',
    test: { file: library, title: 'who was subscribed is subscribed anew' },
    changes: {
      [page]: {
        'it tries where they are blocked': [
          "(storedBody && Notification.permission === 'granted')",
          'storedBody',
        ],
        'it subscribes who has unsubscribed': [
          'await updateState(registration.scope, { storedBody: undefined });',
          'await 0;',
        ],
      },
    },
  },
  {
    claim: 'A service worker that the site registers within five seconds is waited for in `subscribe()`',
    test: { file: library, title: 'a service worker that the site registers within five seconds' },
    changes: {
      [timeLimit]: { 'it is for one second': ['lateRegistrationMs = 5_000', 'lateRegistrationMs = 1_000'] },
    },
  },
  {
    claim:
      '`channels()` and `setChannels()` reject with `not-subscribed` where the service has no subscription of this browser',
    test: { file: library, title: 'channels are asked for and set' },
    changes: {
      [page]: {
        'what the service does not know is none': ['choices[name] !== !isOn', 'name !== undefined'],
        'a channel whose name each object has a member of is taken for chosen': [
          'choices[name] !== !isOn',
          'isOn === (choices[name] ?? isOn)',
        ],
        'the reason is another one': ["ClientError('not-subscribed'", "ClientError('no-support'"],
      },
    },
  },
  {
    claim: 'Messages come as events and in a loop, which `return()` ends',
    test: { file: library, title: 'messages come in their order' },
    changes: {
      'src/client/message-stream.ts': { 'it does not': ['await reader.cancel();', ''] },
      [page]: { 'those of another registration come too': ['registration?.scope === scope', 'registration'] },
    },
  },
  {
    claim:
      '`onClick` is asked before a channel is turned off or a page opened, which it is where the hook throws',
    test: { file: 'test/client/service-worker.test.ts', title: 'a click is for the site’s hook first' },
    changes: {
      'src/client/worker/clicks.ts': {
        'the channel is turned off before': [
          'if (await hooks().onClick?.(message, actionName)) return;',
          "if (actionName !== 'turn-off-channel' && (await hooks().onClick?.(message, actionName))) return;",
        ],
        'what it has handled opens a page': [
          'if (await hooks().onClick?.(message, actionName)) return;',
          'await hooks().onClick?.(message, actionName);',
        ],
        'nothing is opened where it throws': [
          "console.error('Deskbell: onClick failed, so the page is opened.', error);",
          'return void error;',
        ],
      },
    },
  },
  {
    claim: 'The action turn-off-channel sends the choice with the stored subscription, also later',
    test: { file: 'test/client/service-worker.test.ts', title: 'what cannot be turned off now is kept' },
    changes: {
      'src/client/worker/renewal.ts': {
        'it is tried once': ['await renewWithRetries(null);', 'await renew().catch(() => undefined);'],
        'it forgets what was turned off before': ['{ ...choices, [channel]: false }', '{ [channel]: false }'],
      },
      'src/client/subscription.ts': {
        'it is given up': ['if (status < 400 || status > 499 || status === 429) throw error;', ''],
      },
    },
  },
];
