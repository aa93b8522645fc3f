// Promises of docs/client.md.
import type { DocumentedPromise } from '../promise.ts';

const demoPage = 'test/browser/demo-page-suite.ts';

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
        'it gives up': [
          'if (isRefused || (error as ClientError).status !== 409) throw error;',
          'throw error;',
        ],
      },
    },
  },
];
