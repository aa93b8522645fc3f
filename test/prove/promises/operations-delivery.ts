// Promises of docs/operations.md on what processes that deliver say, and on what they do every now and then.
import type { DocumentedPromise } from '../promise.ts';

const conditions = 'test/delivery/push-service-conditions.test.ts';
const broadcasts = 'test/cli/broadcasts.test.ts';
const processes = 'test/cli/metrics.test.ts';
const packagingFiles = 'test/packaging-files.test.ts';

export const operationsOfDelivery: readonly DocumentedPromise[] = [
  {
    claim: 'Memory does not grow with the broadcasts that somebody has looked at',
    test: {
      file: 'test/store/sqlite-database.test.ts',
      title: 'ids are values: however many different ones are asked for, there are no more statements',
    },
    changes: {
      'src/store/attempt-reader.ts': {
        'ids are text of a statement': [
          "where ${database.isOneOf('c.broadcast_id', 'broadcastIds')}",
          "where c.broadcast_id in (${broadcastIds.join(',')}) and ${database.isOneOf('c.broadcast_id', 'broadcastIds')}",
        ],
      },
    },
  },
  {
    claim: 'Older data is deleted every hour, as long as a process runs',
    test: { file: 'test/cli/retention-loop.test.ts', title: 'at the start and every hour' },
    changes: {
      'src/cli/data/retention-loop.ts': {
        'it is deleted at the start alone': [
          'await sleep(everyMs, undefined, { signal, ref: false }).catch(() => {});',
          'return;',
        ],
        'a fault is the end of it': ['      onError(error);', '      onError(error);\n      return;'],
      },
    },
  },
  {
    claim: 'Subscriptions that ended are known for 30 days',
    test: { file: 'test/store/retention-suite.ts', title: 'deletes subscriptions that ended 30 days ago' },
    changes: {
      'src/store/retention.ts': {
        'they are known until another one ends': ['endedKeptMs = 30 * 24', 'endedKeptMs = 3000 * 24'],
        'they are known for shorter': ['endedKeptMs = 30 * 24', 'endedKeptMs = 29 * 24'],
      },
    },
  },
  {
    claim: '`serve` deletes older data',
    test: { file: processes, title: 'serve counts registrations' },
    changes: {
      'src/cli/commands/serve.ts': {
        'it does not': [
          'withRetention(store, configuration,',
          'withRetention({ now: Date.now, retention: { prune: async () => false, shrink: async () => false } }, configuration,',
        ],
      },
    },
  },
  {
    claim: '`worker` deletes older data',
    test: { file: processes, title: 'a worker has metrics of its own' },
    changes: {
      'src/cli/commands/worker.ts': {
        'it does not': [
          'withRetention(data.store, configuration,',
          'withRetention({ now: Date.now, retention: { prune: async () => false, shrink: async () => false } }, configuration,',
        ],
      },
    },
  },
  {
    claim: 'At most 5 % of the answers are acceptances, or 95 % or more call the subscription gone',
    test: { file: conditions, title: 'at most 5 % of the answers' },
    changes: {
      'src/delivery/alarms/push-service-conditions.ts': {
        '5 % are enough': [
          'answers.accepted * share <= sum(answers)',
          'answers.accepted * share < sum(answers)',
        ],
        '95 % are too few': [
          '(answers.accepted + answers.rejected) * share <=',
          '(answers.accepted + answers.rejected) * share <',
        ],
      },
    },
  },
  {
    claim: 'A refused token is one alarm until a token is accepted, and answers are judged for a day',
    test: { file: 'test/store/alarms-suite.ts', title: 'a refused token is one alarm' },
    changes: {
      'src/delivery/alarms/read-alarms.ts': {
        'it stands while the broadcast runs': ['answer.acceptedAtMs > sinceMs', 'answer.acceptedAtMs < 0'],
        'it is none while messages are held': ['...refusedTokens(suspended, raised),', ''],
        'answers are judged for ever': ['sinceMs: nowMs - judgedMs', 'sinceMs: 0'],
        'it leads to the broadcast': ['reason === vapidRefusedReason ? undefined :', ''],
        'it ends where another push service accepts one': ['answer.origin === origin &&', ''],
        'it is about the messages of another push service': [
          'alarm.origin === origin && alarm.reason === vapidRefusedReason',
          'alarm.reason === vapidRefusedReason',
        ],
        'it does not say what was answered': [
          'reason: vapidRefusedReason, detail, sinceMs',
          "reason: vapidRefusedReason, detail: '', sinceMs",
        ],
        'it counts no messages': ['sinceMs, rows, broadcastIds });', 'sinceMs, rows: 0, broadcastIds });'],
        'it names no broadcast': ['sinceMs, rows, broadcastIds });', 'sinceMs, rows, broadcastIds: [] });'],
      },
      'src/delivery/alarms/push-service-conditions.ts': {
        'it stands since the last key was refused': [
          'Math.min(suspendedSinceMs, since.get(origin) ?? Infinity)',
          'suspendedSinceMs',
        ],
        'twelve hours are judged': ['judgedMs = 24 * 60', 'judgedMs = 12 * 60'],
      },
    },
  },
  {
    claim: 'Fewer than twenty answers are no reason for an alarm of their push service',
    test: { file: conditions, title: 'fewer than twenty answers' },
    changes: {
      'src/delivery/alarms/push-service-conditions.ts': {
        'twenty say nothing': ['sum(judged) < deletionGuardPolicy', 'sum(judged) <= deletionGuardPolicy'],
        'one says something': [
          'if (sum(judged) < deletionGuardPolicy.minWindowAnswers) return [];',
          'void deletionGuardPolicy;',
        ],
      },
    },
  },
  {
    claim: 'It is logged when a broadcast that was scheduled starts',
    test: {
      file: 'test/delivery/watch-broadcasts.test.ts',
      title: 'a broadcast that is scheduled is reported again',
    },
    changes: {
      'src/delivery/broadcast/watch-broadcasts.ts': {
        'it is not': ['state === before?.state ?', 'broadcast.state === before?.broadcast.state ?'],
      },
    },
  },
  {
    claim: 'Each alarm of a broadcast is logged once, whichever process delivers it',
    test: {
      file: 'test/delivery/watch-broadcasts.test.ts',
      title: 'each alarm is reported once',
    },
    changes: {
      'src/delivery/broadcast/watch-broadcasts.ts': {
        'one of two push services is': ['=> `${origin} ${reason}`;', '=> reason || origin;'],
        'one of two reasons is': ['=> `${origin} ${reason}`;', '=> origin || reason;'],
        'it is logged at each look': ['!known.has(alarmKey(alarm))', '!known.has(alarm.detail)'],
      },
    },
  },
  {
    claim: '`serve --deliver` logs once that it starts to deliver and that it stops',
    test: { file: broadcasts, title: 'the log of serve --deliver holds alarms' },
    changes: {
      'src/cli/commands/serve.ts': {
        'not that it starts': [
          "log.info({ ...worker, state: 'started',",
          "void ({ ...worker, state: 'started',",
        ],
        'not that it stops': ["log.info({ ...worker, state: 'stopped' });", ''],
      },
    },
  },
  {
    claim: 'The event of a broadcast in the log has its counts',
    test: { file: 'test/cli/report-delivery.test.ts', title: 'the log of serve has workers' },
    changes: {
      'src/cli/serve/log-delivery.ts': {
        'it has none': ['recipients, ...counts }', 'recipients, ...(counts && {}) }'],
      },
    },
  },
  {
    claim: 'A worker that is lost and a push service that cannot be reached are logged as errors',
    test: { file: 'test/cli/report-delivery.test.ts', title: 'the log of serve has workers' },
    changes: {
      'src/cli/serve/log-delivery.ts': {
        'one that is lost is not': ["if (state === 'lost') log.error", "if (state === 'lost') log.info"],
        'a push service is not': [
          "if (event.state === 'unreachable') log.error",
          "if (event.state === 'unreachable') log.info",
        ],
      },
    },
  },
  {
    claim: '`worker` says which push services cannot be reached',
    test: { file: broadcasts, title: 'a scheduled or detached broadcast is left to a worker' },
    changes: {
      'src/cli/commands/worker.ts': {
        'it does not': [
          'output.diagnostic(`deskbell: ${formatReachability(event)}`)',
          'void formatReachability(event)',
        ],
      },
      'src/delivery/broadcast/watch-push-services.ts': {
        'it looks once': ['const pollEveryMs = 2000;', 'const pollEveryMs = 2_000_000;'],
      },
    },
  },
  {
    claim: '`send` and `broadcasts resume` say which push services cannot be reached',
    test: { file: broadcasts, title: 'messages that are not accepted make the exit code 1' },
    changes: {
      'src/cli/send/run-broadcast.ts': {
        'they do not': [
          'output.diagnostic(`deskbell: ${formatReachability(reachability)}`);',
          'void formatReachability(reachability);',
        ],
      },
    },
  },
  {
    claim: '`worker` prints a line for its own stop, and of text for each message that is not accepted',
    test: { file: broadcasts, title: 'a serve logs what others deliver' },
    changes: {
      'src/cli/commands/worker.ts': {
        'none for its stop': ["'Deskbell has stopped.'", "''"],
        'those of messages are JSON': ['json: flags.json,', 'json: true,'],
      },
    },
  },
  {
    claim: 'With `--json`, `send` writes the lines of messages to standard output',
    test: { file: broadcasts, title: '--ids and --file reach these' },
    changes: {
      'src/cli/send/send-broadcast.ts': {
        'they are text on standard error': [
          'openSender(configuration, data, context, { json: flags.json })',
          'openSender(configuration, data, context)',
        ],
      },
    },
  },
  {
    claim: 'A message that is not accepted is logged every time it is tried',
    test: {
      file: 'test/delivery/message-log.test.ts',
      title: 'of a commit each message that is not accepted',
    },
    changes: {
      'src/delivery/message-log.ts': {
        'what is tried again is left out': [
          "(log.of === 'failed' && outcome === 'accepted')",
          "(log.of === 'failed' && (outcome === 'accepted' || outcome === 'retry'))",
        ],
      },
    },
  },
  {
    claim: 'A single message is logged with its subscription where it is stored',
    test: {
      file: 'test/delivery/message-log.test.ts',
      title: 'a single message is told without a broadcast',
    },
    changes: {
      'src/delivery/message-log.ts': {
        'it is logged without': [
          '{ subscriptionId, pushService, outcome: outcome.kind',
          '{ pushService, outcome: outcome.kind',
        ],
      },
      'src/cli/output/message-lines.ts': {
        'its line names a broadcast': [
          "broadcastId === undefined ? 'Message'",
          "broadcastId === 0 ? 'Message'",
        ],
        'its line does not name it': ['subscriptionId === undefined ?', 'broadcastId === undefined ?'],
      },
    },
  },
  {
    claim: 'A message of a broadcast is logged once its outcome is stored',
    test: { file: 'test/delivery/committer.test.ts', title: 'messages are logged once their outcome' },
    changes: {
      'src/delivery/worker/committer.ts': {
        'it is logged where another worker has the lease': [' && !answer.isLeaseLost) logRows', ') logRows'],
      },
    },
  },
  {
    claim: 'The health check of the container is `/readyz`, and its data is in the volume `/data`',
    test: { file: packagingFiles, title: 'the container file pins its base' },
    changes: {
      'packaging/Containerfile': {
        'it is `/healthz`': ['8080/readyz', '8080/healthz'],
        'its data is not in the volume': ['DESKBELL_DATA=/data', 'DESKBELL_DATA=/srv'],
      },
    },
  },
  {
    claim:
      'The systemd unit serves and delivers, restarts a service that gives no ping for a minute, reopens its log, and allows 65,536 open files',
    test: { file: packagingFiles, title: 'the systemd unit has the limits' },
    changes: {
      'packaging/deskbell.service': {
        'it waits for ten minutes': ['WatchdogSec=60', 'WatchdogSec=600'],
        'it does not restart it': ['Restart=on-failure', 'Restart=no'],
        'a reload ends the service': ['kill -HUP', 'kill -TERM'],
        'it allows 1,024': ['LimitNOFILE=65536', 'LimitNOFILE=1024'],
        'it does not deliver': ['--push-only --deliver', '--push-only'],
        'its data is elsewhere': ['DESKBELL_DATA=%S/', 'DESKBELL_DATA=%T/'],
        'the configuration is not read': ['Environment=DESKBELL_CONFIG=%d/config.json', ''],
      },
    },
  },
  {
    claim: 'It is logged once when nine tenths of `maxSubscriptions` are stored',
    test: { file: 'test/store/endpoint-spellings-suite.ts', title: 'the operator is warned once when nine' },
    changes: {
      'src/store/subscription-limit.ts': {
        'rows are counted at the limit alone': [
          'rowsToWarning > 0 ? rowsToWarning : this.#capacity',
          'this.#capacity',
        ],
        'it is logged when there are more': [
          '>= maxSubscriptions * warnAtShare',
          '> maxSubscriptions * warnAtShare',
        ],
        'it is logged at each count': ['if (state === this.#warned) return;', ''],
      },
    },
  },
  {
    claim: '`deskbell doctor` says how a pause of sending ends',
    test: { file: 'test/cli/sending.test.ts', title: 'is what restore makes' },
    changes: {
      'src/cli/doctor/check-data.ts': {
        'it does not': ['warning(describePause(pause), pauseRemedy)', "warning(describePause(pause), '')"],
      },
    },
  },
  {
    claim: 'The doctor asks each push service for the time alone',
    test: { file: 'test/cli/doctor.test.ts', title: 'asks a push service for the time' },
    changes: {
      'src/cli/doctor/check-network.ts': {
        'it asks for a page': ["method: 'HEAD'", "method: 'GET'"],
        'it asks what names many': [" && !entry.includes('*')", ''],
        'it asks any public host': ["entry !== 'public' && ", ''],
        'it does not say what the proxy is not for': [
          "noProxy.length === 0 ? ''",
          "noProxy.length >= 0 ? ''",
        ],
      },
    },
  },
  {
    claim: 'The doctor connects to push services as sending does',
    test: { file: 'test/cli/doctor.test.ts', title: 'asks a push service for the time' },
    changes: {
      'src/cli/doctor/check-network.ts': {
        'it goes through the proxy to all': ['    noProxy,', '    noProxy: [],'],
        'it connects to any address': ['    isNamedOrigin,', '    isNamedOrigin: () => true,'],
        'it connects to public addresses alone': ['    isNamedOrigin,', '    isNamedOrigin: () => false,'],
        'it asks for the time through the proxy alone': [
          'if (proxy === undefined || isProxyBypassed(url.hostname, noProxy)) return',
          'if (proxy === undefined) return',
        ],
        'it asks for the time past the proxy': [
          '{ agent: new HttpsProxyAgent(proxy), secureContext }',
          '{ agent: new HttpsProxyAgent(proxy) && undefined, secureContext }',
        ],
      },
    },
  },
  {
    claim: 'Whatever a worker writes waits for free space on the disk',
    test: { file: 'test/delivery/full-disk.all.test.ts', title: 'whatever a worker writes waits' },
    changes: {
      'src/delivery/worker/wait-for-disk-space.ts': {
        'a lease that is renewed does not': [
          'patiently(() => leases.renew(lease, leaseMs))',
          'leases.renew(lease, leaseMs)',
        ],
        'answers do not': ['patiently(() => ledger.recordAnswers(answers))', 'ledger.recordAnswers(answers)'],
      },
    },
  },
  {
    claim: 'A PostgreSQL server whose disk is full is waited for, as SQLite is',
    test: { file: 'test/store/postgres-database.test.ts', title: 'a full disk is told from other faults' },
    changes: {
      'src/store/postgres/database-errors.ts': {
        'it ends the delivery': [
          'return new DiskFullError(label, cause);',
          "return new DiskFullError(label, cause) && unavailable('is full');",
        ],
      },
    },
  },
  {
    claim: 'An alarm of the clock ends with it, also where the push services that showed it answer no more',
    test: { file: 'test/delivery/clock-check.test.ts', title: 'what was seen five minutes ago' },
    changes: {
      'src/delivery/clock-check.ts': {
        'it stands for hours': ['validForMs = 5 * lookEveryMs', 'validForMs = 500 * lookEveryMs'],
        'it ends after a minute': ['validForMs = 5 * lookEveryMs', 'validForMs = lookEveryMs'],
      },
    },
  },
  {
    claim: 'A database that is opened on a full disk says that the disk is full',
    test: { file: 'test/delivery/full-disk.all.test.ts', title: 'a database is not opened, which says' },
    changes: {
      'src/store/sqlite/database-errors.ts': {
        'it says that the disk has a fault': ['extendedCode(error) === SQLITE_IOERR_SHMSIZE', 'false'],
      },
    },
  },
  {
    claim: 'A backup to another disk is made where the disk of the database is full, also if nothing runs',
    test: { file: 'test/delivery/full-disk.all.test.ts', title: 'a database is copied to another disk' },
    changes: {
      'src/store/sqlite/backup.ts': {
        'it is not': ["if (isShmFull(error)) return copy(from, to, 'exclusive');", ''],
      },
    },
  },
  {
    claim: 'Messages that expire before any of their broadcast was sent are an alarm',
    test: { file: 'test/delivery/expired.test.ts', title: 'a broadcast whose time is over' },
    changes: {
      'src/delivery/worker/record.ts': {
        'they are none': ['...(isOverUntried(row, settings) && { alarm: expiredUnsent }),', ''],
        'each push service has its own': [
          "  origin: '',\n  reason: expiredUnsentReason",
          '  reason: expiredUnsentReason',
        ],
      },
    },
  },
  {
    claim: 'Messages that expire are an alarm only where nothing of their broadcast was tried',
    test: { file: 'test/delivery/record.test.ts', title: 'raises an alarm where its broadcast was over' },
    changes: {
      'src/delivery/worker/record.ts': {
        'its own tries do not count': ['tries.attempts + tries.deferrals === 0', 'true'],
        'those of others do not count': ['every(({ attempts }) => attempts === 0)', 'every(() => true)'],
        'the broadcast need not be over': ['now() >= broadcast.expiresAtMs &&', ''],
      },
    },
  },
];
