// Promises of docs/scaling.md.
import type { DocumentedPromise } from '../promise.ts';

const copyTest = 'test/store/copy-store.test.ts';
const copyStore = 'src/store/copy/copy-store.ts';
const copyDatabase = 'src/store/copy/copy-database.ts';
const services = 'test/service/several-services.test.ts';

export const scaling: readonly DocumentedPromise[] = [
  {
    claim: 'A copy is verified: every row is read again, and its checksum must be that of the source',
    test: { file: copyTest, title: 'is refused where what was written is not what was read' },
    changes: {
      [copyStore]: {
        'it is not': [
          '  if (isSame(tally, expected)) return;',
          '  if (tally.rows === expected.rows) return;',
        ],
      },
      'src/store/copy/checksum.ts': {
        'only the number of rows is compared': [
          'one.rows === other.rows && one.checksum === other.checksum',
          'one.rows === other.rows',
        ],
      },
    },
  },
  {
    claim: 'An interrupted copy goes on only with the source as it was',
    test: { file: copyTest, title: 'that was interrupted does not go on with a source that has changed' },
    changes: {
      [copyStore]: {
        'it goes on with any': [
          '    if (isSame(tally, written)) return;',
          '    if (tally.rows >= 0) return;',
        ],
      },
    },
  },
  {
    claim: 'The target of a copy must be empty',
    test: { file: copyTest, title: 'is made to an empty target only' },
    changes: {
      [copyDatabase]: {
        'it may have rows': ['if (row === undefined) continue;', 'if (row !== null) continue;'],
      },
      'src/store/copy/copied-tables.ts': {
        'it may have operators': ["new Set(['vapid_keys',", "new Set(['operators', 'vapid_keys',"],
        'it may have channels': ["new Set(['vapid_keys',", "new Set(['channels', 'vapid_keys',"],
      },
    },
  },
  {
    claim: 'Nobody writes to any table of a source in PostgreSQL while it is copied',
    test: { file: copyTest, title: 'lets nobody write to its source meanwhile' },
    changes: {
      'src/store/copy/postgres-copy.ts': {
        'all but the first two tables can be written': [
          "${[...tables].join(', ')}",
          "${[...tables].slice(0, 2).join(', ')}",
        ],
        'schedules can be written': [
          "${[...tables].join(', ')}",
          "${[...tables].filter((name) => name !== 'deskbell.schedules').join(', ')}",
        ],
      },
    },
  },
  {
    claim: 'The source of a copy is first migrated to the newest schema',
    test: { file: copyTest, title: 'migrates a source of an older version first' },
    changes: {
      'src/store/copy/postgres-copy.ts': {
        'it is read as it is': ['    await migrate(database);', ''],
      },
    },
  },
  {
    claim: '`deskbell store copy --json` prints rows and SHA-256 of each table',
    test: { file: 'test/cli/store-copy.test.ts', title: 'moves a broadcast that is paused half-way' },
    changes: {
      'src/cli/commands/store.ts': {
        'the checksum is left out': ['({ name, ...tally }))', '({ name, rows: tally.rows }))'],
      },
    },
  },
  {
    claim:
      'Until a copy is complete, no other command opens the target, and after a kill the same command goes on',
    test: { file: copyTest, title: 'that is killed goes on where it was' },
    changes: {
      'src/store/postgres/migrate.ts': {
        'another command opens it': [
          'if (known.some(({ relname }) => relname === unfinishedCopy)) throw',
          "if (known.some(({ relname }) => relname === '')) throw",
        ],
      },
    },
  },
  {
    claim: 'Memory does not grow with the rows of a copy: those of a page are read at a time',
    test: { file: copyTest, title: 'that is killed goes on where it was' },
    changes: {
      [copyDatabase]: {
        'a page has all rows': ['export const pageRows = 1000;', 'export const pageRows = 1_000_000;'],
      },
      'src/store/copy/postgres-copy.ts': {
        'PostgreSQL: all rows are read at once': ['fetch ${pageRows} from', 'fetch all from'],
      },
    },
  },
  {
    claim: 'An interrupted copy writes nothing twice, also where the answer to a commit was lost',
    test: { file: copyTest, title: 'writes no page twice where the answer to a commit was lost' },
    changes: {
      [copyDatabase]: { 'the page is written again': ['if (isNew === undefined) return;', 'void isNew;'] },
    },
  },
  {
    claim: 'A copy is refused while another process has the source or the target open',
    test: { file: copyTest, title: 'is refused while another process has the source' },
    changes: {
      'src/store/copy/postgres-copy.ts': {
        'PostgreSQL: it is made': ['if (count === 0) return;', 'if (count >= 0) return;'],
        'PostgreSQL: it is also while another database of the server is used': [
          'datname = current_database() and ',
          '',
        ],
      },
      'src/store/copy/sqlite-copy.ts': {
        'SQLite: it is made': ['pragma locking_mode = exclusive;', 'pragma locking_mode = normal;'],
      },
    },
  },
  {
    claim: 'A copy begun by another version is not continued',
    test: { file: copyTest, title: 'begun by another version is not continued' },
    changes: {
      [copyDatabase]: {
        'it is': ['if (row.schema_version === schemaVersion) return', 'if (row.schema_version > 0) return'],
      },
    },
  },
  {
    claim: 'Registrations are durable: SQLite syncs each commit, and those of one turn share one',
    test: { file: 'test/store/sqlite-database.test.ts', title: 'a SQLite database' },
    changes: {
      'src/store/sqlite/open-database-file.ts': {
        'a power failure loses the last commits': [
          'pragma synchronous = full;',
          'pragma synchronous = normal;',
        ],
      },
      'src/store/sqlite/database.ts': {
        'each has a commit': ['setImmediate(() => this.#commit());', 'this.#commit();'],
      },
    },
  },
  {
    claim: 'Any service answers any request: sessions are sealed in the cookie',
    test: { file: services, title: 'with the same session key take each other’s sessions' },
    changes: {
      'src/service/demonstration/session.ts': {
        'each process has a key of its own': [
          "hkdfSync('sha256', sessionKey, '',",
          "hkdfSync('sha256', sessionKey, String(performance.now()),",
        ],
      },
    },
  },
  {
    claim: 'The limit of receipts holds for all services together',
    test: { file: services, title: 'take together no more reports' },
    changes: {
      'src/service/push/receipts.ts': {
        'each process has a count of its own': [
          "rateLimit: limitPerMinute(receiptsPerMinute, 'report')",
          'rateLimit: limitPerMinute(receiptsPerMinute, `report ${performance.timeOrigin} ${Math.random()}`)',
        ],
      },
    },
  },
  {
    claim: 'A rate limit is kept by all workers together',
    test: { file: 'test/store/rate-shares-suite.ts', title: 'are kept by all who ask together' },
    changes: {
      'src/store/sqlite/rate-shares.ts': {
        'each has all of it': ['permits: saved - permits,', 'permits: saved,'],
      },
      'src/store/postgres/functions/rate-shares.sql': {
        'each has all of it': ['permits = saved - granted,', 'permits = saved,'],
      },
    },
  },
  {
    claim: 'What one sender was asked to wait by `Retry-After` holds for all',
    test: {
      file: 'test/store/push-services-suite.ts',
      title: 'what one sender was asked to wait is known to all',
    },
    changes: {
      'src/store/sqlite/push-services.ts': {
        'it is not told': ['if (waitMs > 0) statements', 'if (waitMs < 0) statements'],
        'a shorter wait ends a longer one': ['max(wait_until_ms, :untilMs)', ':untilMs'],
      },
    },
  },
  {
    claim: 'Each occurrence of a schedule becomes one broadcast, whichever worker looks',
    test: { file: 'test/store/schedules-suite.ts', title: 'what is due is given to one at a time' },
    changes: {
      'src/store/schedules.ts': {
        'each makes one': ['and d.lease_until_ms <= :nowMs and', 'and'],
      },
    },
  },
  {
    claim: 'In PostgreSQL, pages of tables of work in progress have room for updates',
    test: { file: 'test/store/postgres-database.test.ts', title: 'has 32 partitions of subscriptions' },
    changes: {
      'src/store/postgres/migrations.ts': {
        'those of retries are full': ['with (fillfactor = 80)', 'with (autovacuum_enabled = true)'],
        'those of counted answers are full': [
          'primary key (broadcast_id, answer_id, shard)\n  ) with (fillfactor = 50)',
          'primary key (broadcast_id, answer_id, shard)\n  )',
        ],
      },
    },
  },
  {
    claim:
      'Of two hosts that accept writes the one that was promoted last is used: others are asked at the first connection and again and again',
    test: {
      file: 'test/store/postgres-hosts.all.test.ts',
      title: 'a former primary that still takes writes',
    },
    changes: {
      'src/store/postgres/writable-server.ts': {
        'connections to the former primary stay': ['cut(connection);', 'void connection;'],
        'others are asked at the first connection alone': ['      keepLooking();', ''],
        'others are not asked at the first connection': ['atMost(lookAtMostMs, look())', 'Promise.resolve()'],
      },
    },
  },
  {
    claim: 'Workers keep trying while the database is away, a minute apart at most',
    test: { file: 'test/delivery/restart-after-faults.test.ts', title: 'work that fails again and again' },
    changes: {
      'src/delivery/worker/restart-after-faults.ts': {
        'they give up': ['while (!stopped.aborted) {', 'for (let run = 0; run < 3; run += 1) {'],
        'they wait ever longer': ['const maxPauseMs = 60_000;', 'const maxPauseMs = 600_000;'],
        'they try again at once': ['      await wait(pauseMs);', ''],
      },
    },
  },
  {
    claim: 'A copy of PostgreSQL waits for the lease of a worker that was killed',
    test: {
      file: copyTest,
      title: 'of PostgreSQL is refused while a worker that is not connected holds rows',
    },
    changes: {
      'src/store/copy/postgres-copy.ts': {
        'it does not': ['await assertNothingLeased(query, database.label);', 'void assertNothingLeased;'],
        'that of its retries is overlooked': [
          'deskbell.retries where token is not null)',
          'deskbell.retries where false)',
        ],
        'it waits for slices that no worker has': [
          'from deskbell.slices where token is not null',
          'from deskbell.slices',
        ],
      },
    },
  },
  {
    claim: '`POST /v1/messages` waits for its audit record',
    test: { file: 'test/operator/api.test.ts', title: 'sends to an id and answers' },
    changes: {
      'src/operator/audit-changes.ts': {
        'its answer is sent before its status is stored': ['await audit.finish(', 'void audit.finish('],
      },
    },
  },
  {
    claim: 'The answers to single messages of a second, or a thousand of them, are stored in one commit',
    test: { file: 'test/delivery/answer-log.test.ts', title: 'a thousand answers are told at once' },
    changes: {
      'src/delivery/single/answer-log.ts': {
        'ten thousand are': ['const maxPending = 1000;', 'const maxPending = 10_000;'],
        'those of ten seconds are': ['const reportAfterMs = 1000;', 'const reportAfterMs = 10_000;'],
      },
    },
  },
  {
    claim: 'A broadcast to all stores nothing per row',
    test: { file: 'test/delivery/broadcast.test.ts', title: 'to all reaches each once, ' },
    changes: {
      'src/delivery/broadcast/create-broadcast.ts': {
        'its audience is written down': ['    split !== undefined,\n', '    isOfStored,\n'],
      },
    },
  },
  {
    claim: '`deskbell store copy` takes the place that is not named from the configuration',
    test: { file: 'test/cli/store-copy.test.ts', title: 'takes what is not named from the configuration' },
    changes: {
      'src/cli/data/copy-locations.ts': {
        'a copy of another database is made to the one of the configuration': [
          "if (location?.kind === 'database') return directory(data);",
          "if (location?.kind === 'database' && database === undefined) return directory(data);",
        ],
        'the data directory is copied to another one': [
          'source ?? otherThan(to)',
          'source ?? directory(data)',
        ],
      },
    },
  },
  {
    claim:
      'After a copy with a schedule or a broadcast whose audience is looked for, it is said that the source sends too',
    test: { file: 'test/cli/store-copy.test.ts', title: 'says that the source must not be used any more' },
    changes: {
      'src/cli/commands/store.ts': {
        'not with a schedule': ["'preparations', 'schedules']", "'preparations']"],
        'not with such a broadcast': ["'preparations', 'schedules']", "'schedules']"],
        'with any copy': ['rows ?? 0) > 0,', 'rows ?? 0) >= 0,'],
      },
    },
  },
  {
    claim: '`--max-rate` of a command holds in the threads that deliver, and is counted in the database',
    test: { file: 'test/cli/broadcasts.test.ts', title: 'list, show and cancel tell what there is' },
    changes: {
      'src/cli/send/open-sender.ts': {
        'the command does not tell it': [
          'ca, logMessages, ...options }',
          'ca, logMessages, maxRate: _rate, ...options }',
        ],
      },
      'src/delivery/worker/create-worker.ts': {
        'threads have none': ['settings.maxRates ?? new Map()', 'new Map()'],
      },
    },
  },
];
