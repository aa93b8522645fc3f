// Promises of docs/migrating-from-web-push.md.
import type { DocumentedPromise } from '../promise.ts';

const nodeTransport = 'test/web-push/node-transport.test.ts';

export const migrating: readonly DocumentedPromise[] = [
  {
    claim: 'DESKBELL_WEB_PUSH_TRANSPORT=node sends with https.request, so that nock can answer',
    test: { file: nodeTransport, title: 'by the variable, nock answers' },
    changes: {
      'src/web-push/index.ts': {
        'the variable is not read': ["process.env['DESKBELL_WEB_PUSH_TRANSPORT']", 'undefined'],
      },
    },
  },
  {
    claim: 'An endpoint that is no URL gets the error text of the original',
    test: { file: 'test/web-push/contract.test.ts', title: 'for an endpoint that is no URL' },
    changes: {
      'src/web-push/request-details.ts': {
        'it gets that of URL': ["return 'null//null';", 'return new URL(endpoint).origin;'],
      },
    },
  },
  {
    claim: 'Without the variable and the option, a replaced https.request changes nothing',
    test: { file: nodeTransport, title: 'a replaced https.request changes nothing' },
    changes: {
      'src/web-push/push-client.ts': {
        'every message is sent with it': ["transport === 'node' ||", 'true ||'],
      },
    },
  },
];
