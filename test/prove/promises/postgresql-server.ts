// Promises of docs/postgresql.md on the server: what it must be, how it is connected to, and what happens while it is away.
import type { DocumentedPromise } from '../promise.ts';

const away = 'test/store/postgres-away.test.ts';
const tls = 'test/store/postgres-tls.test.ts';
const hosts = 'test/store/postgres-hosts.all.test.ts';
const databaseTest = 'test/store/postgres-database.test.ts';
const clock = 'test/store/server-clock.test.ts';
const services = 'test/service/several-services.test.ts';
const preflight = 'src/store/postgres/preflight.ts';
const database = 'src/store/postgres/database.ts';

export const postgresqlServer: readonly DocumentedPromise[] = [
  {
    claim: 'What `/readyz` checks fails while the PostgreSQL server is a standby',
    test: { file: away, title: 'is waited for while it is a standby' },
    changes: {
      'src/store/postgres/open-store.ts': {
        'it is read alone': [
          'check: async () => checkServer(database, () => {}, { isPatient: false }),',
          "check: async () => void (await database.queryBriefly('select 1')),",
        ],
      },
    },
  },
  {
    claim:
      'A server that is too old, has another encoding, or gives too few rights is refused, and a clock that differs is warned of',
    test: { file: away, title: 'a PostgreSQL server that is not fit' },
    changes: {
      [preflight]: {
        'an old one is used': ['const minVersion = 15;', 'const minVersion = 14;'],
        'PostgreSQL 15 is too old': ['server.version < minVersion', 'server.version <= minVersion'],
        'any encoding is used': ["if (server.encoding !== 'UTF8')", "if (server.encoding === '')"],
        'rights are not looked at': ['if (!server.may_create) {', 'if (server.may_create === null) {'],
        'the clock is not looked at': [
          'if (differenceMs > maxClockDifferenceMs) {',
          'if (differenceMs > 99 * maxClockDifferenceMs) {',
        ],
      },
    },
  },
  {
    claim: '`verify-ca` without `sslrootcert` is refused',
    test: { file: tls, title: 'names the file that is missing, and what must not be left out' },
    changes: {
      'src/store/postgres/connection.ts': {
        'it is taken': [
          "searchParams.get('sslmode') === 'verify-ca' &&",
          "searchParams.get('sslmode') === 'verify' &&",
        ],
      },
    },
  },
  {
    claim:
      'Each `sslmode` checks what it does in libpq; without one, TLS is used only if something else asks for it',
    test: { file: tls, title: 'checks what sslmode says, and no less' },
    changes: {
      'src/store/postgres/connection.ts': {
        'it is what the driver makes of it': [
          "url.searchParams.set('uselibpqcompat', 'true')",
          "url.searchParams.set('uselibpqcompat', 'false')",
        ],
        'without it there is none, whatever else asks for it': [
          "if (url.searchParams.has('sslmode'))",
          "if (!url.searchParams.has('sslmode')) url.searchParams.set('sslmode', 'disable');\n  else",
        ],
        'for the connection for notices it is what the driver makes of it': [
          'options.url))(clientConfig(options));',
          'options.url))({ connectionString: options.url });',
        ],
        'of several hosts it is what the driver makes of it': [
          'urls.map(withLibpqTls)',
          'urls.map(({ href }) => href)',
        ],
        'a certificate of the client is not shown': [
          "url.searchParams.delete('target_session_attrs');",
          "url.searchParams.delete('sslcert');",
        ],
      },
    },
  },
  {
    claim: '`prefer` and `allow` are refused, and other session attributes than `read-write` and `primary`',
    test: { file: hosts, title: 'a URL' },
    changes: {
      'src/store/postgres/database-url.ts': {
        'they are ignored': [
          'if (value === null || values.includes(value)) return;',
          'if (value === null || values) return;',
        ],
        '`prefer` is taken': ["const sslModes = ['disable',", "const sslModes = ['prefer', 'disable',"],
        'a standby may be asked for': ["'primary'];", "'primary', 'prefer-standby'];"],
        'the longer name of the scheme is not known': ['postgres(?:ql)?:', 'postgres:'],
      },
    },
  },
  {
    claim: 'The other hosts of a URL are asked before its first connection is used',
    test: { file: hosts, title: 'a former primary is not used because one connection' },
    changes: {
      'src/store/postgres/writable-server.ts': { 'it is used at once': ['        await looked;', ''] },
    },
  },
  {
    claim:
      'A call is made again while the server restarts or is a standby, and then fails with ERR_STORE_UNAVAILABLE',
    test: { file: away, title: 'is waited for while it' },
    changes: {
      [database]: {
        'it is not made again': ['if (!mayPass || isOver) throw', 'if (mayPass || isOver) throw'],
      },
    },
  },
  {
    claim: 'A statement that the server ends as it shuts down is made again',
    test: { file: databaseTest, title: 'goes on when the server ends its connections' },
    changes: {
      [database]: {
        'one of a transaction fails': [
          'return this.#retry(async () => {\n      const client',
          'return this.#inTurn(async () => {\n      const client',
        ],
      },
      'src/store/postgres/database-errors.ts': { 'it fails': ["  '57P01', // the server is shut down", ''] },
    },
  },
  {
    claim: 'Whatever passes with a restart or a failover is tried again, what PgBouncer says of it too',
    test: { file: databaseTest, title: 'what passes once a server is there again' },
    changes: {
      'src/store/postgres/database-errors.ts': {
        'a connection that breaks is not': ["  'ECONNRESET',", ''],
        'a server that has crashed is not': ["  '57P02',", ''],
        'a lock that was not free is not': ["  '55P03', // a lock was not available", ''],
        'a Unix socket that is away is not': ["  'ENOENT', // the server's Unix socket", ''],
        'a user whom PgBouncer refuses is': ['(database|user)|password|auth|not allowed/i', 'database/i'],
        'what PgBouncer says is not': [
          'if (code === protocolViolation) return !isRefusalByServer',
          'if (code === protocolViolation) return isRefusalByServer',
        ],
      },
    },
  },
  {
    claim: 'Calls are made again for 20 seconds',
    test: { file: databaseTest, title: 'tries calls again for 20 seconds' },
    changes: {
      [database]: {
        'they are until the pauses are long': [
          'if (!mayPass || isOver) throw',
          'if (!mayPass || isOver || pauseMs === maxPauseMs) throw',
        ],
        'they are for ten': ['options.retryForMs ?? defaultRetryForMs', 'options.retryForMs ?? 10_000'],
        'they are for longer': ['options.retryForMs ?? defaultRetryForMs', 'options.retryForMs ?? 21_000'],
      },
    },
  },
  {
    claim: 'The doctor and each process compare the clocks, and the offset is known from the start on',
    test: { file: away, title: 'is warned of where its clock differs' },
    changes: {
      [preflight]: {
        'a clock that is ahead is not noticed': [
          'Math.max(askedAtMs - server.now_ms, server.now_ms - answeredAtMs)',
          'askedAtMs - server.now_ms',
        ],
      },
      'src/store/postgres/inspect-database.ts': {
        'the doctor does not': ['(warning) => warnings.push(warning)', '() => {}'],
      },
      'src/store/postgres/open-store.ts': {
        'the offset is learnt later': ['    await database.clock.learn();', ''],
      },
    },
  },
  {
    claim:
      'By default a statement takes 30 seconds at most, and a process that does not deliver opens 4 connections',
    test: { file: databaseTest, title: 'has the limits that docs/postgresql.md names' },
    changes: {
      'src/store/postgres/connection.ts': {
        'a statement takes longer': [
          'defaultStatementTimeoutMs = 30_000',
          'defaultStatementTimeoutMs = 60_000',
        ],
        'it opens more': ['defaultMaxConnections = 4', 'defaultMaxConnections = 8'],
      },
    },
  },
  {
    claim: 'A statement that the server does not cancel, as behind PgBouncer, is given up',
    test: { file: databaseTest, title: 'a statement that the server does not cancel' },
    changes: {
      'src/store/postgres/connection.ts': {
        'it is waited for': ['  query_timeout: statementTimeoutMs + answerTimeoutMs,', ''],
      },
    },
  },
  {
    claim: 'The doctor changes nothing in a database',
    test: { file: databaseTest, title: 'is left as it is by the doctor' },
    changes: {
      'src/store/postgres/inspect-database.ts': {
        'it makes the tables': [
          '    const schema = await database',
          "    await (await import('./migrate.ts')).migrate(database); const schema = await database",
        ],
      },
    },
  },
  {
    claim: 'The doctor looks for missing keys and a pause of sending in PostgreSQL too',
    test: { file: databaseTest, title: 'is left as it is by the doctor' },
    changes: {
      'src/store/postgres/inspect-database.ts': {
        'it finds no key': ['keys: await vapidKeys.list(),', 'keys: [],'],
        'it finds no pause': ['pause: await createSending(portable).findPause(),', 'pause: undefined,'],
      },
    },
  },
  {
    claim: 'A worker that hears of no new work, as behind PgBouncer, polls more often than one that does',
    test: { file: 'test/store/work-notices.test.ts', title: 'polls behind PgBouncer' },
    changes: {
      'src/store/postgres/leases.ts': {
        'it polls as seldom': [
          'if (notices.isHearing && database.now() === null)',
          'if (database.now() === null)',
        ],
      },
    },
  },
  {
    claim: 'A process has a connection for notices only if it delivers',
    test: { file: 'test/store/work-notices.test.ts', title: 'is told of a new broadcast' },
    changes: {
      'src/store/postgres/work-notices.ts': {
        'each process has one': ['this.#options = options;', 'this.#options = options; void this.#open();'],
      },
    },
  },
  {
    claim: 'The threads of a process share one connection for notices',
    test: {
      file: 'test/store/work-notices.test.ts',
      title: 'in one of several threads shares one connection',
    },
    changes: {
      'src/store/postgres/thread-notices.ts': {
        'each thread has its own': [
          'return new ThreadNotices(database.label)',
          'return new WorkNotices(database, options)',
        ],
      },
    },
  },
  {
    claim: 'A worker looks for work every two seconds, and four times a second while it hears of none',
    test: {
      file: 'test/store/work-notices.test.ts',
      title: 'looks by itself every two seconds, and four times a second',
    },
    changes: {
      'src/store/postgres/leases.ts': {
        'it looks once a minute': ['return lookWhileHearingEveryMs;', 'return 30 * lookWhileHearingEveryMs;'],
        'it looks twice a second': ['? lookForWorkEveryMs :', '? 2 * lookForWorkEveryMs :'],
      },
    },
  },
  {
    claim: 'Client addresses are counted under a hash, in an unlogged table',
    test: { file: services, title: 'forget who has asked' },
    changes: {
      'src/store/postgres/client-requests.ts': {
        'they are stored as they are': [
          "hash('sha256', client, 'hex')",
          "Buffer.from(client.padEnd(16)).toString('hex')",
        ],
      },
      'src/store/postgres/migrations.ts': {
        'the table is logged': ['create unlogged table', 'create table'],
      },
    },
  },
  {
    claim: 'The requests of a turn are counted by one statement',
    test: { file: services, title: 'count the requests of one turn' },
    changes: {
      'src/store/postgres/client-requests.ts': {
        'each begins one': ['setImmediate(() => void writeAll())', 'queueMicrotask(() => void writeAll())'],
      },
    },
  },
  {
    claim: 'A database that does not answer within a second is not waited for by registrations',
    test: { file: services, title: 'holds where the shared one is not told in time' },
    changes: {
      'src/service/push/client-limits.ts': {
        'it is': ['Promise.race([shared.count(client, windowMs), late])', 'shared.count(client, windowMs)'],
      },
    },
  },
  {
    claim: '`deskbell backup` and `deskbell restore` refuse a database in PostgreSQL',
    test: { file: 'test/cli/backup.test.ts', title: 'is for SQLite' },
    changes: {
      'src/cli/data/require-sqlite.ts': {
        'they take the SQLite file': [
          'if (database === undefined) return;',
          'if (database !== null) return;',
        ],
      },
    },
  },
  {
    claim: 'A statement that takes too long is cancelled',
    test: { file: databaseTest, title: 'ends a statement that takes too long' },
    changes: {
      'src/store/postgres/connection.ts': {
        'it goes on for a minute': [
          'statement_timeout: String(statementTimeoutMs)',
          'statement_timeout: String(300 * statementTimeoutMs)',
        ],
      },
    },
  },
  {
    claim: 'The first process makes the tables, whoever else begins at the same time',
    test: { file: databaseTest, title: 'gets its tables once, whoever else begins' },
    changes: {
      'src/store/postgres/migrate.ts': { 'nobody waits': ['    await lockMigrations(query);', ''] },
    },
  },
  {
    claim: 'A migration takes as long as it needs, and processes that start meanwhile wait for it',
    test: { file: databaseTest, title: 'is migrated however long a statement of the migration takes' },
    changes: {
      'src/store/postgres/migrate.ts': {
        'the server cancels it': ["    await query('set local statement_timeout = 0');", ''],
        'its answer is not waited for': ['  }, maxMigrationMs);', '  });'],
      },
    },
  },
  {
    claim:
      'Processes of the former version go on while a newer one migrates, and an old version that starts then refuses',
    test: { file: databaseTest, title: 'goes on registering while a newer version migrates' },
    changes: {
      'src/store/postgres/migrate.ts': {
        'it starts': ['if (version <= newest) return version;', 'if (version <= newest + 1) return newest;'],
      },
    },
  },
  {
    claim: 'A schema `deskbell` of another program is left alone',
    test: { file: databaseTest, title: 'is left alone where its schema is another program’s' },
    changes: {
      'src/store/postgres/migrate.ts': {
        'it is used': ['if (other !== undefined) {', 'if (other === null) {'],
      },
    },
  },
  {
    claim: 'The clock of the database is measured again every 30 seconds, and holds for the whole process',
    test: { file: clock, title: 'it is learnt again now and then, and follows a server' },
    changes: {
      'src/store/postgres/server-clock.ts': {
        'it is measured at the start alone': [
          'learnAtMs = askedAtMs + learnAgainAfterMs;',
          'learnAtMs = Infinity + learnAgainAfterMs;',
        ],
        'it is measured each minute': [
          'const learnAgainAfterMs = 30_000;',
          'const learnAgainAfterMs = 60_000;',
        ],
      },
    },
  },
  {
    claim: 'A worker that waits is woken when a broadcast is created, and when one is resumed',
    test: { file: 'test/store/work-notices.test.ts', title: 'is told of a new broadcast' },
    changes: {
      'src/store/postgres/migrations.ts': {
        'it polls': ["perform pg_notify('${workChannel}', new.id::text);", 'null;'],
        'one that is resumed wakes nobody': [
          'create trigger broadcasts_notified_of after insert or update of state on',
          'create trigger broadcasts_notified_of after insert on',
        ],
      },
    },
  },
  {
    claim: 'The limits of registrations hold for all services together, those of one turn too',
    test: { file: services, title: 'admit together no more registrations of a client than the limit' },
    changes: {
      'src/store/postgres/functions/client-requests.sql': {
        'each request begins anew': ['then c.requests else 0 end', 'then 0 else 0 end'],
      },
      'src/service/push/client-limits.ts': {
        'each process counts by itself': [
          'if (shared === undefined || now() < aloneUntilMs)',
          'if (shared === undefined || now() >= 0)',
        ],
      },
    },
  },
  {
    claim: 'Where the database does not answer, each process counts by itself for five seconds',
    test: { file: services, title: 'holds for a while where the shared one is not told' },
    changes: {
      'src/service/push/client-limits.ts': {
        'it asks each time': ['aloneUntilMs = now() + aloneForMs;', 'aloneUntilMs = now();'],
        'it asks too early': ['aloneUntilMs = now() + aloneForMs;', 'aloneUntilMs = now() + 4000;'],
        'it does not ask again': [
          'aloneUntilMs = now() + aloneForMs;',
          'aloneUntilMs = now() + 99 * aloneForMs;',
        ],
        'nothing is limited then': ['Math.max(requests, counted?.requests ?? 0)', '(counted?.requests ?? 0)'],
      },
    },
  },
  {
    claim:
      'Of two clients with one place in the table, the newer one has it, and each process counts the other by itself',
    test: { file: services, title: 'keep so many clients and no more' },
    changes: {
      'src/store/postgres/functions/client-requests.sql': {
        'they are counted together': [
          'case when c.client = excluded.client and c.ends_at_ms > now_ms then c.requests',
          'case when c.ends_at_ms > now_ms then c.requests',
        ],
      },
    },
  },
  {
    claim: 'Who has asked is forgotten a minute after the window is over',
    test: { file: services, title: 'forget who has asked' },
    changes: {
      'src/store/postgres/client-requests.ts': {
        'it is an hour later': ['const forgetEveryMs = 60_000;', 'const forgetEveryMs = 3_600_000;'],
        'it is never': ['.clock($1)`, [', '.clock($1) - 1000000000000`, ['],
        'it is not where its window is still open at the first look': [
          'if (performance.now() - countedMs < 2 * forgetEveryMs) forgetLater();',
          '',
        ],
      },
      'src/store/postgres/open-store.ts': {
        'it is not where its service has stopped': ['[commitIds, clientWindows]', '[commitIds]'],
      },
    },
  },
  {
    claim: 'A worker that waits is woken when another one gives back retries, also where no slice is left',
    test: {
      file: 'test/store/work-notices.test.ts',
      title: 'is told of retries that another one gives back when no slice is left',
    },
    changes: {
      'src/store/postgres/functions/leases.sql': {
        'it is only while slices are left': [
          'if work_before.slices_at_ms is distinct from 0 then perform',
          'if work_before.slices_at_ms > 0 then perform',
        ],
      },
    },
  },
];
