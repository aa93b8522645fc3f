// Promises of docs/operator-api.md.
import type { DocumentedPromise } from '../promise.ts';

export const operatorApi: readonly DocumentedPromise[] = [
  {
    claim:
      'A webhook that answers with Retry-After gets the event again no earlier, nor earlier than without it',
    test: { file: 'test/operator/webhook.test.ts', title: 'what is not taken with a Retry-After' },
    changes: {
      'src/operator/webhook/start-webhook.ts': {
        'Retry-After is ignored': ['Math.max(delayMs, retryAfterMs(result))', 'delayMs'],
        'Retry-After alone counts': ['Math.max(delayMs, retryAfterMs(result))', 'retryAfterMs(result)'],
      },
    },
  },
  {
    claim: 'A webhook event that is three days old is dropped',
    test: { file: 'test/store/webhook-outbox-suite.ts', title: 'what is three days old is dropped' },
    changes: {
      'src/store/sqlite/sqlite-webhook-outbox.ts': {
        'it is kept': ['where at_ms < :beforeMs', 'where at_ms < 0 and at_ms < :beforeMs'],
      },
      'src/store/postgres/postgres-webhook-outbox.ts': {
        'it is kept': ['where at_ms < ${functions}', 'where at_ms < 0 and at_ms < ${functions}'],
      },
      'src/store/rows/webhook-event-row.ts': {
        'it is dropped a day early': ['= 3 * 24', '= 2 * 24'],
      },
    },
  },
];
