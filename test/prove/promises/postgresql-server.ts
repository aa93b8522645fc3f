// Promises of docs/postgresql.md on the server: what it must be, how it is connected to, and what happens while it is away.
import type { DocumentedPromise } from '../promise.ts';

const away = 'test/store/postgres-away.test.ts';
const tls = 'test/store/postgres-tls.test.ts';
const hosts = 'test/store/postgres-hosts.test.ts';
const databaseTest = 'test/store/postgres-database.test.ts';
const clock = 'test/store/server-clock.test.ts';
const services = 'test/service/several-services.test.ts';
const preflight = 'src/store/postgres/preflight.ts';
const database = 'src/store/postgres/database.ts';

export const postgresqlServer: readonly DocumentedPromise[] = [
  {
    claim:
      'A server that is too old, has another encoding, or gives too few rights is refused, and a clock that differs is warned of',
    test: { file: away, title: 'a PostgreSQL server that is not fit' },
    changes: {
      [preflight]: {
        'an old one is used': ['const minVersion = 15;', 'const minVersion = 14;'],
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
    claim: 'Each `sslmode` checks what it does in libpq, and without one TLS is not used',
    test: { file: tls, title: 'checks what sslmode says, and no less' },
    changes: {
      'src/store/postgres/connection.ts': {
        'it is what the driver makes of it': [
          "url.searchParams.set('uselibpqcompat', 'true')",
          "url.searchParams.set('uselibpqcompat', 'false')",
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
      },
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
    claim: 'A worker that waits is woken when a broadcast is created',
    test: { file: 'test/store/work-notices.test.ts', title: 'is told of a new broadcast' },
    changes: {
      'src/store/postgres/migrations.ts': {
        'it polls': ["perform pg_notify('${workChannel}', new.id::text);", 'null;'],
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
        'it does not ask again': [
          'aloneUntilMs = now() + aloneForMs;',
          'aloneUntilMs = now() + 99 * aloneForMs;',
        ],
        'nothing is limited then': [
          'if (counted === undefined || counted.requests < requests)',
          'if (counted === undefined) return finish(0); if (counted.requests < requests)',
        ],
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
];
