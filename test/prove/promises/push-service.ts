// Promises of docs/push-service.md.
import type { DocumentedPromise } from '../promise.ts';

export const pushServicePage: readonly DocumentedPromise[] = [
  {
    claim: 'All `delay` faults that match a request apply to it, one after the other',
    test: {
      file: 'test/push-service/faults/faults.test.ts',
      title: 'delays that meet the same request add up',
    },
    changes: {
      'src/push-service/faults/fault-plan.ts': {
        'only the last one applies': ['delayMs += fault.ms;', 'delayMs = fault.ms;'],
      },
    },
  },
  {
    claim: 'The limit of streams of one HTTP/2 connection holds over TLS too',
    test: {
      file: 'test/push-service/http/listener.test.ts',
      title: 'HTTP/2 over TLS announces its limit of streams',
    },
    changes: {
      'src/push-service/http/listener.ts': {
        'a connection over TLS has no limit': ['allowHTTP1: true, settings }', 'allowHTTP1: true }'],
      },
    },
  },
  {
    claim:
      'The connection that a new one of its user agent replaces is `disconnected`, before the new one is `connected`',
    test: {
      file: 'test/push-service/browser-side/autopush.test.ts',
      title: 'the same uaid connected again takes the place',
    },
    changes: {
      'src/push-service/browser-side/user-agents.ts': {
        'it is not': [
          "has connected again');\n        log.record({ type: 'disconnected', uaid: agent.uaid });",
          "has connected again');",
        ],
      },
    },
  },
  {
    claim: 'The event of an acknowledgement names the subscription, also of a message with `TTL: 0`',
    test: {
      file: 'test/push-service/browser-side/delivery.test.ts',
      title: 'the acknowledgement of a message with TTL 0 names its subscription',
    },
    changes: {
      'src/push-service/browser-side/user-agents.ts': {
        'of a message that is not kept it has none': [
          'stored?.owner ?? agent.subscriptions.get(channelId) ?? {}',
          'stored?.owner ?? {}',
        ],
      },
    },
  },
  {
    claim: 'A TTL that is reduced to `maxTtlSeconds` holds, and is not only in the answer',
    test: {
      file: 'test/push-service/browser-side/delivery.test.ts',
      title: 'a message does not outlive the longest TTL',
    },
    changes: {
      'src/push-service/sender-side/sender-api.ts': {
        'the message is kept for what was asked': ['now() + ttlSeconds * 1000', 'now() + Number(ttl) * 1000'],
      },
    },
  },
  {
    claim:
      'Where nothing else is given, its limits are those of the page, and a user agent waits ten seconds for a message',
    test: {
      file: 'test/documentation/figures.test.ts',
      title: 'pages name the times and limits of the code',
    },
    changes: {
      'src/push-service/limits.ts': {
        'half as many subscriptions are taken': ['maxSubscriptions: 100_000', 'maxSubscriptions: 50_000'],
        'a tenth of the connections is taken': ['maxConnections: 10_000', 'maxConnections: 1_000'],
        'a quarter of the bytes is kept': ['maxStoredBytes: 64', 'maxStoredBytes: 16'],
        'messages are kept for four weeks': ['maxTtlSeconds: 30', 'maxTtlSeconds: 28'],
      },
      'src/push-service/browser-side/user-agent.ts': {
        'it waits half a minute': ['defaultWaitMs = 10_000', 'defaultWaitMs = 30_000'],
      },
    },
  },
];
