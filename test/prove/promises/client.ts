// Promises of docs/client.md.
import type { DocumentedPromise } from '../promise.ts';

const demoPage = 'test/browser/demo-page-suite.ts';
const cookies = 'test/browser/cookie-suite.ts';
const request = 'src/client/request-service.ts';
const ownWorkers = 'test/browser/own-worker-suite.ts';

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
        'what is stored is lost': ['store.put({ ...state, ...changes }', 'store.put({ ...state }'],
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
          'isOn === (choices[name] ?? isOn)',
          'isOn === isOn',
        ],
      },
      'src/client/preferences/preferences.ts': {
        'a switch stays as nobody has saved it': ['input.checked = !checked;', ''],
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
        'it is given up': ['if (!error.status) throw error;', ''],
      },
    },
  },
];
