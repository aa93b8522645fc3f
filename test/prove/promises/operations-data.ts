// Promises of docs/operations.md on backups, upgrades, logs, and what is kept.
import type { DocumentedPromise } from '../promise.ts';

const backup = 'test/cli/backup.test.ts';
const backUp = 'src/cli/data/back-up.ts';
const restore = 'src/cli/data/restore.ts';
const retention = 'test/store/retention-suite.ts';
const record = 'test/delivery/record.test.ts';
const serve = 'test/cli/serve.test.ts';
const doctor = 'test/cli/doctor.test.ts';
const configuration = 'test/cli/configuration.test.ts';

export const operationsOfData: readonly DocumentedPromise[] = [
  {
    claim:
      'A backup holds the settings and, with keys, every secret, and is restored with the rights of each file',
    test: { file: backup, title: 'with keys restores to the same directory' },
    changes: {
      [backUp]: {
        'settings are left out': ['...(await readSettings(directory)),', ''],
        'keys are left out': [
          'const secrets = withKeys ? await',
          'const secrets = withKeys && !withKeys ? await',
        ],
      },
      'src/keys/secret-files.ts': {
        'the keys of subscriber tokens and of webhooks are left out': [
          '[vapidFileName, ...secretFileNames]',
          '[vapidFileName, ...secretFileNames.slice(0, 2)]',
        ],
      },
    },
  },
  {
    claim: 'Without `--with-keys` a backup has no secret, and cannot be restored without the key files',
    test: { file: backup, title: 'without keys holds no secret of them' },
    changes: {
      [backUp]: { 'it has them': ['const secrets = withKeys ? await', 'const secrets = true ? await'] },
      [restore]: {
        'it makes keys of its own': [
          'if ((await readdir(draft)).includes(vapidFileName)) return;',
          'if (draft !== directory) return;',
        ],
      },
    },
  },
  {
    claim: 'A backup never replaces a file, and a restore no database',
    test: { file: backup, title: 'replaces nothing: neither a file, nor a database' },
    changes: {
      [backUp]: { 'a file is replaced': ['{ replace: false }', '{ replace: true }'] },
      [restore]: {
        'a database is replaced': [
          'if (existsSync(databasePathOf(directory))) {',
          'if (existsSync(databasePathOf(directory))) await rm(databasePathOf(directory)); if (directory === "") {',
        ],
      },
    },
  },
  {
    claim: 'A restore refuses a directory that has the log of another database',
    test: { file: backup, title: 'replaces nothing: neither a file, nor a database' },
    changes: {
      [restore]: {
        'it does not': ['assertNoLog(databasePathOf(directory));', ''],
        'its index alone is overlooked': ['[`${path}-wal`, `${path}-shm`]', '[`${path}-wal`]'],
      },
    },
  },
  {
    claim: 'A restored database gets its name last, when all else is there',
    test: { file: backup, title: 'replaces nothing: neither a file, nor a database' },
    changes: {
      [restore]: {
        'it comes before the keys': [
          'await writeSecretFiles(directory, await readSecretFiles(draft));',
          'await place(databasePathOf(draft), databasePathOf(directory)); await writeSecretFiles(directory, await readSecretFiles(draft));',
        ],
        'it comes before the users of the demonstration': [
          '[exampleUsersPathOf, databasePathOf]',
          '[databasePathOf, exampleUsersPathOf]',
        ],
      },
    },
  },
  {
    claim: 'A backup is made at one moment, while others write, and does not begin again when they do',
    test: { file: backup, title: 'is made while others write' },
    changes: {
      'src/store/sqlite/backup.ts': {
        'it begins again with each write': ['{ rate: allPages }', '{ rate: 1 }'],
      },
    },
  },
  {
    claim: 'A backup is verified when it is written',
    test: { file: backup, title: 'of a database that is damaged is not made' },
    changes: {
      'src/store/sqlite/backup.ts': {
        'it is not': [
          "database.exec('pragma journal_mode = delete');",
          "database.exec('pragma journal_mode = delete'); if (files.length === 0) return;",
        ],
      },
    },
  },
  {
    claim: 'A restore migrates the backup of an older version, whose database file can shrink then',
    test: { file: backup, title: 'of an older version is migrated' },
    changes: {
      'src/store/sqlite/backup.ts': {
        'it refuses it': ['if (readVersion(database, path) === 0)', 'if (readVersion(database, path) < 30)'],
        'it cannot shrink': ["'pragma auto_vacuum = incremental; vacuum'", "'vacuum'"],
      },
    },
  },
  {
    claim: 'A restore verifies the backup, and refuses one of a newer version',
    test: { file: backup, title: 'that is damaged, of another program or of a newer version' },
    changes: {
      [restore]: { 'it does not': ['  checkBackup(file);', '  void checkBackup;'] },
    },
  },
  {
    claim:
      'During a pause of sending, what is asked for is sent, and broadcasts of before wait until they are resumed',
    test: {
      file: 'test/delivery/resume-sending.test.ts',
      title: 'workers send what is asked for during the pause',
    },
    changes: {
      'src/store/sending.ts': {
        'the broadcasts of before stay paused': [
          'if (known === undefined || !withBroadcasts) return [];',
          'if (known !== null) return [];',
        ],
        'the broadcasts of before go on': [
          "update deskbell.broadcasts set state = 'paused' where state = 'running' returning id",
          "update deskbell.broadcasts set state = 'paused' where state = 'none' returning id",
        ],
      },
    },
  },
  {
    claim: 'The audience of a broadcast is prepared during a pause of sending',
    test: { file: 'test/store/audiences-suite.ts', title: 'another process goes on where one has ended' },
    changes: {
      'src/store/preparations.ts': {
        'it waits': [
          'where is_paused = 0 and lease_until_ms <= :nowMs',
          'where is_paused = 0 and lease_until_ms <= :nowMs and not exists (select 1 from deskbell.sending_pause)',
        ],
      },
    },
  },
  {
    claim: 'A pause, missing keys and a wrong clock are warnings of `/readyz` and of the console',
    test: {
      file: 'test/delivery/resume-sending.test.ts',
      title: 'a pause, and a clock that push services contradict',
    },
    changes: {
      'src/delivery/installation-warnings.ts': {
        'the pause is none': ['if (pause !== undefined) {', 'if (pause === null) {'],
        'a key file that cannot be read is an error': [
          'if (error instanceof DeskbellError) return error.message;',
          '',
        ],
        'the clock is none': ['if (wrong !== undefined) {', 'if (wrong === null) {'],
        'the clock of one machine counts': ['differences.find(', 'differences.slice(0, 1).find('],
        'three minutes are not tolerated': ['> toleratedClockMs', '>= toleratedClockMs'],
        'six minutes are tolerated': ['> toleratedClockMs', '> 2 * toleratedClockMs'],
        'they are read once': ['performance.now() - readAtMs < cacheMs', 'performance.now() >= readAtMs'],
      },
    },
  },
  {
    claim: 'An occurrence of a schedule is made up to an hour late, and left out later',
    test: { file: 'test/delivery/schedules.test.ts', title: 'an occurrence' },
    changes: {
      'src/delivery/schedule/run-schedules.ts': {
        'two hours late too': ['const latestMs = 60 * 60 * 1000;', 'const latestMs = 120 * 60 * 1000;'],
        'half an hour late alone': ['const latestMs = 60 * 60 * 1000;', 'const latestMs = 30 * 60 * 1000;'],
      },
    },
  },
  {
    claim: 'A newer version opens the data directory of every older one, and keeps what is in it',
    test: { file: 'test/store/every-schema.all.test.ts', title: 'SQLite: from each schema' },
    changes: {
      'src/store/sqlite/migrations.ts': {
        'operators lose their roles': ['  update operators set permits = role;\n', ''],
        'links to users are lost': [
          'alter table ended_subscriptions rename column user to user_name;',
          'alter table ended_subscriptions add column user_name text;',
        ],
      },
    },
  },
  {
    claim: 'SQLite: migrations are one transaction, and whoever starts meanwhile waits for it',
    test: {
      file: 'test/store/upgrade.test.ts',
      title: 'migrations of an older database are made all or none',
    },
    changes: {
      'src/store/sqlite/open-database-file.ts': {
        'each is a transaction': [
          'of migrations.slice(version)) database.exec(migration);',
          'of migrations.slice(version)) database.exec(`${migration}; commit; begin`);',
        ],
        'nobody waits': ['migrationTimeoutMs = 10_000;', 'migrationTimeoutMs = 0;'],
      },
    },
  },
  {
    claim: 'An older version refuses a database that a newer one has migrated, and changes nothing',
    test: { file: 'test/store/upgrade.test.ts', title: 'a data directory of a later version' },
    changes: {
      'src/store/sqlite/open-database-file.ts': {
        'it opens it': ['if (version <= migrations.length) return version;', 'return version;'],
      },
    },
  },
  {
    claim: '`SIGHUP` reopens the log file, and no record is lost',
    test: { file: serve, title: 'SIGHUP opens the log file anew' },
    changes: {
      'src/http/log.ts': { 'records go to the old file': ['writer.redirect(reopened);', 'void reopened;'] },
    },
  },
  {
    claim: '`serve` writes to its log that the limit of subscriptions is near or reached',
    test: { file: serve, title: 'flags reach the service' },
    changes: {
      'src/cli/commands/serve.ts': {
        'it writes it to standard error': [
          "warn = (detail) => log.error({ event: 'warning', detail });",
          "void ((detail: string) => log.error({ event: 'warning', detail }));",
        ],
      },
    },
  },
  {
    claim: 'Where the reader of the log does not keep up, records are dropped, and memory does not grow',
    test: { file: 'test/service/log.test.ts', title: 'drops what a reader leaves' },
    changes: {
      'src/http/batch-writer.ts': {
        'all are kept': ['if (rest.length > maxWaitingBytes) drop', 'if (rest.length < 0) drop'],
        'none is kept': ["if (code !== 'EAGAIN') return drop(message);", 'return drop(message);'],
      },
    },
  },
  {
    claim: 'A log file is readable by its owner only',
    test: { file: serve, title: 'the log file is readable by its owner only' },
    changes: {
      'src/http/log-file.ts': {
        'a new one is not': ['const ownerOnly = 0o600;', 'const ownerOnly = 0o644;'],
        'one that is there stays as it is': [
          'if (status.isFile() && (status.mode & othersMask) !== 0)',
          'if (status.isFIFO() && (status.mode & othersMask) !== 0)',
        ],
      },
    },
  },
  {
    claim: 'With `redactSubscriptions` the log has no endpoint and no key of a new subscription',
    test: {
      file: 'test/service/http.test.ts',
      title: 'spares the console the values where it is configured',
    },
    changes: {
      'src/service/push/registration.ts': { 'it has them': ['      redactSubscriptions', '      false'] },
    },
  },
  {
    claim: 'A process that gives no sign of life any more is reported as lost, one that ends as stopped',
    test: { file: 'test/delivery/watch-workers.test.ts', title: 'a process' },
    changes: {
      'src/delivery/broadcast/watch-workers.ts': {
        'one that ends some seconds after a report is lost': [
          'silentLooksOfLost = 6;',
          'silentLooksOfLost = 3;',
        ],
        'both have stopped': ["? 'stopped' : 'lost'", "? 'stopped' : 'stopped'"],
        'both are lost': ["? 'stopped' : 'lost'", "? 'lost' : 'lost'"],
        'each thread is a process': [
          'const key = `${machine} ${processId}`;',
          'const key = `${machine} ${processId} ${startedAtMs}`;',
        ],
      },
    },
  },
  {
    claim: 'A push service that cannot be reached is logged once, and once when it answers again',
    test: {
      file: 'test/delivery/watch-push-services.test.ts',
      title: 'is told of once when it begins and once when it ends',
    },
    changes: {
      'src/delivery/broadcast/watch-push-services.ts': {
        'it is logged at each look': ['.filter(({ origin }) => !before.has(origin))', ''],
        'the end is not logged': ["({ state: 'reachable', origin })", "({ state: 'unreachable', origin })"],
      },
    },
  },
  {
    claim: '`/readyz` is a 503 where the database does not accept writes, and `/healthz` is not',
    test: { file: 'test/service/http.test.ts', title: '/readyz is a 503 and /healthz is not' },
    changes: {
      'src/service/health.ts': { 'it stays a 200': ['await store.check();', ''] },
    },
  },
  {
    claim: '`/readyz` of a service in code says that sending is paused, and is a 200',
    test: { file: 'test/service/http.test.ts', title: '/healthz says that the process lives' },
    changes: {
      'src/service/health.ts': {
        'it does not': ['readWarnings = () => readPause(store)', 'readWarnings = async () => []'],
      },
    },
  },
  {
    claim: 'What `/readyz` checks fails while another process keeps a SQLite database from being written',
    test: { file: 'test/store/sqlite-database.test.ts', title: 'a lock that is held too long' },
    changes: {
      'src/store/sqlite/database.ts': {
        'it is read alone': [
          'await this.write(() => this.#database.exec(changeNothing',
          "await this.read(() => this.#database.exec('select 1'",
        ],
      },
    },
  },
  {
    claim: 'What `/readyz` and the doctor check fails where a SQLite file may only be read',
    test: { file: 'test/store/sqlite-store.test.ts', title: 'notice that the file may not be written' },
    changes: {
      'src/store/sqlite/open-database-file.ts': {
        'it is read in a transaction that could write': [
          "'delete from vapid_keys where false'",
          "'select 1 from vapid_keys where false'",
        ],
      },
      'src/store/sqlite/inspect-database.ts': {
        'the doctor does not': ['if (schema > 0) assertWritable(database);', ''],
        'the doctor calls a lock a fault': ['if (!isBusy(error)) throw error;', 'throw error;'],
      },
    },
  },
  {
    claim: 'Nothing is written to a SQLite file that was deleted or replaced since it was opened',
    test: { file: 'test/store/sqlite-store.test.ts', title: 'a file that is not the database any more' },
    changes: {
      'src/store/sqlite/database.ts': {
        'it is': ['this.#assertSameFile();\n      this', 'this'],
      },
    },
  },
  {
    claim: 'Counts of a broadcast that do not add up are an alarm as long as the broadcast is kept',
    test: {
      file: 'test/store/alarms-suite.ts',
      title: 'counts that differ stand as long as their broadcast is kept',
    },
    changes: {
      'src/store/alarms.ts': {
        'it ends with the others': [" and a.reason <> '${countsDifferReason}'`", '`'],
      },
      'src/store/sqlite/finish-broadcast.ts': {
        'what is counted twice is none': ['finished.missing === 0 ||', 'finished.missing <= 0 ||'],
        'what is counted twice is a negative number': ['Math.abs(finished.missing)', 'finished.missing'],
      },
      'src/store/postgres/functions/finish-broadcast.sql': {
        'what is counted twice is none': ['if missing <> 0 then', 'if missing > 0 then'],
        'what is counted twice is a negative number': ['abs(missing), now_ms', 'missing, now_ms'],
      },
    },
  },
  {
    claim:
      'A schedule that was due a minute ago and has made no broadcast is an alarm, unless sending is paused',
    test: { file: 'test/store/alarms-suite.ts', title: 'a schedule whose time has passed is late, unless' },
    changes: {
      'src/delivery/alarms/work-conditions.ts': {
        'it is none': ['...(lateSchedules.length > 0 ?', '...(lateSchedules.length > 99 ?'],
        'without a worker it is counted as broadcasts are': [
          'ofSchedules ? countSchedules(schedules) : countBroadcasts(broadcasts)',
          'countBroadcasts(broadcasts)',
        ],
        'without a worker it stands since the last of all that is due': [
          'earliest([...broadcasts, ...schedules])',
          'earliest(ofSchedules ? schedules : broadcasts)',
        ],
        'it is one at once': [
          'schedules.filter(({ sinceMs }) => sinceMs <= nowMs - lateAfterMs)',
          'schedules.filter(({ sinceMs }) => sinceMs <= nowMs)',
        ],
      },
    },
  },
  {
    claim: 'A 429 of Chrome is an alarm where it lasts, and no other 429 is',
    test: { file: record, title: 'raises an alarm where Chrome asks it to wait for long' },
    changes: {
      'src/delivery/limits/chrome-limit.ts': {
        'each is one': [
          'attempt < suspiciousAttempts && afterMs < suspiciousWaitMs',
          'attempt < 0 && afterMs < 0',
        ],
        'those of others are too': [' || !isGooglePushService(origin)', ''],
        'only a long Retry-After is one': ['attempt < suspiciousAttempts && afterMs', 'afterMs'],
      },
    },
  },
  {
    claim: 'Messages to a push service that a process does not list wait for one that does, with an alarm',
    test: { file: record, title: 'is left to another sender for as long as it takes' },
    changes: {
      'src/delivery/worker/record.ts': {
        'there is none': ['const isTold = deferrals === 0', 'const isTold = deferrals < 0'],
        'it is raised each time': ['const isTold = deferrals === 0', 'const isTold = deferrals >= 0'],
      },
    },
  },
  {
    claim:
      'Broadcasts are kept for 400 days by default, what came of each subscription for 90, audit records for 400, and messages are not logged',
    test: { file: configuration, title: 'without any source every entry has its default' },
    changes: {
      'src/store/retention.ts': {
        'broadcasts are not kept as long': ['broadcasts: 400,', 'broadcasts: 365,'],
        'attempts are kept longer': ['attempts: 90,', 'attempts: 180,'],
        'audit records are not kept as long': ['audit: 400 }', 'audit: 90 }'],
      },
      'src/cli/configuration/configuration.ts': {
        'messages are logged': [
          "names: ['off', ...loggedMessages],",
          "names: ['off', ...loggedMessages], default: 'failed',",
        ],
      },
    },
  },
  {
    claim:
      'Pages name the times and limits that the code has: of receipts, invitations, caps, leases and statements',
    test: {
      file: 'test/documentation/figures.test.ts',
      title: 'pages name the times and limits of the code',
    },
    changes: {
      'src/store/receipts.ts': {
        'receipts are counted for longer': ['receiptWindowMs = 30 *', 'receiptWindowMs = 90 *'],
      },
      'src/store/invitations.ts': {
        'an invitation lasts an hour': ['invitationLifetimeMs = 10 *', 'invitationLifetimeMs = 60 *'],
      },
      'src/audience/frequency-cap.ts': {
        'it is known for longer whom a cap has reached': ['maxCapWindowMs = 7 *', 'maxCapWindowMs = 14 *'],
      },
      'src/store/held-deletions.ts': {
        'few answers say something': ['minWindowAnswers: 20,', 'minWindowAnswers: 5,'],
      },
      'src/delivery/worker/worker-settings.ts': {
        'a lease lasts a minute': ['leaseMs: 10_000,', 'leaseMs: 60_000,'],
      },
      'src/transport/admission.ts': {
        'a push service is unreachable later': [
          'unreachableAfterMs = 15_000;',
          'unreachableAfterMs = 60_000;',
        ],
      },
      'src/store/postgres/leases.ts': {
        'work of dead workers is looked for more seldom': [
          'lookWhileHearingEveryMs = 2000;',
          'lookWhileHearingEveryMs = 20_000;',
        ],
      },
      'src/store/subscription-limit.ts': {
        'it is said earlier that the limit is near': ['warnAtShare = 0.9;', 'warnAtShare = 0.5;'],
      },
      'src/operator/api/page.ts': {
        'a page may be longer': ['const maxLimit = 500;', 'const maxLimit = 5000;'],
      },
    },
  },
  {
    claim: 'Each setting of how long data are kept is for its own data, and may be `forever`',
    test: { file: 'test/cli/retention-loop.test.ts', title: 'each setting is for its own data' },
    changes: {
      'src/cli/data/retention-loop.ts': {
        'attempts are kept as broadcasts are': ['before(keepAttemptsDays)', 'before(keepBroadcastsDays)'],
        'broadcasts are kept as audit records are': ['before(keepBroadcastsDays)', 'before(keepAuditDays)'],
      },
    },
  },
  {
    claim: 'Whom a cap per person has reached is deleted after seven days',
    test: {
      file: 'test/cli/retention-loop.test.ts',
      title: 'each setting is for its own data',
    },
    changes: {
      'src/cli/data/retention-loop.ts': {
        'it is kept for longer': ['nowMs - maxCapWindowMs', 'nowMs - 99 * maxCapWindowMs'],
      },
    },
  },
  {
    claim: 'Audit records older than configured are deleted, and none with `forever`',
    test: {
      file: 'test/cli/retention-loop.test.ts',
      title: 'audit records older than the configuration says',
    },
    changes: {
      'src/cli/data/retention-loop.ts': {
        'forever is a while': [
          "days === 'forever' ? undefined : nowMs - days * dayMs",
          "nowMs - (days === 'forever' ? 9000 : days) * dayMs",
        ],
        'they are deleted a day early': ['nowMs - days * dayMs', 'nowMs - (days - 1) * dayMs'],
      },
    },
  },
  {
    claim: 'Audit records are deleted by their own time, and not by that of attempts or broadcasts',
    test: { file: retention, title: 'deletes audit records from before' },
    changes: {
      'src/store/retention.ts': {
        'they go with attempts': [
          "dropRows('audit', 'id', auditBeforeMs)",
          "dropRows('audit', 'id', limits.attemptsBeforeMs ?? auditBeforeMs)",
        ],
      },
    },
  },
  {
    claim: 'What came of each subscription is deleted by itself, and the counts of the broadcast stay',
    test: { file: retention, title: 'deletes attempts by themselves, in steps' },
    changes: {
      'src/store/retention.ts': {
        'it stays': ['  yield* dropAttempts(over);', '  void dropAttempts;'],
        'it is deleted at once': ['pruneBatchSets = 500', 'pruneBatchSets = 500_000'],
      },
    },
  },
  {
    claim: 'A broadcast is kept as long as it is known who reported receipts of it',
    test: { file: retention, title: 'leaves a broadcast as long as it is known who reported' },
    changes: {
      'src/store/retention.ts': {
        'it is known for a day less': [
          'pruneReceipts(database.now())',
          'pruneReceipts(database.now() + 24 * 60 * 60 * 1000)',
        ],
        'it is deleted': [
          "'not exists (select 1 from deskbell.receipt_windows w where w.broadcast_id = b.id)'",
          "'true'",
        ],
        'it is kept for ever where no service takes receipts': [
          'if (yield* pruneReceipts(database.now())) return true;',
          'void pruneReceipts;',
        ],
      },
    },
  },
  {
    claim:
      'Requests for single messages are deleted after a day, and events that no webhook takes after three',
    test: { file: retention, title: 'deletes requests for single messages after a day' },
    changes: {
      'src/store/retention.ts': {
        'events wait for a webhook for ever': [
          'yield* dropOldWebhookEvents(database.now());',
          'void dropOldWebhookEvents;',
        ],
        'requests are kept for ever': ['keptMs: keyLifetimeMs', 'keptMs: 1000 * keyLifetimeMs'],
        'requests are forgotten at once': ['keptMs: keyLifetimeMs', 'keptMs: -keyLifetimeMs'],
      },
    },
  },
  {
    claim: 'Lists of recipients that no broadcast uses are deleted after a day',
    test: {
      file: 'test/store/audiences-suite.ts',
      title: 'lists that nobody uses are deleted by retention alone',
    },
    changes: {
      'src/store/retention.ts': {
        'they stay': ['a.created_at_ms < :unusedBeforeMs', 'a.created_at_ms < 0 * :unusedBeforeMs'],
        'they are deleted at once': [
          'a.created_at_ms < :unusedBeforeMs',
          'a.created_at_ms > 0 * :unusedBeforeMs',
        ],
        'those of broadcasts that are paused are deleted': [
          "(b.state not in ('done', 'cancelled') or (",
          "(b.state not in ('done', 'cancelled', 'paused') or (",
        ],
        'they are deleted earlier': [
          'dropUnusedAudience(database.now() - unusedForMs)',
          'dropUnusedAudience(database.now() - unusedForMs / 2)',
        ],
      },
    },
  },
  {
    claim: 'Invitations that have expired are deleted, and none before',
    test: { file: 'test/store/invitations-suite.ts', title: 'it expires, and is forgotten then' },
    changes: {
      'src/store/retention.ts': {
        'they stay': [
          "'delete from deskbell.invitations where expires_at_ms <= :nowMs'",
          "'delete from deskbell.invitations where expires_at_ms <= :nowMs * 0'",
        ],
        'they are deleted a minute before': [
          'where expires_at_ms <= :nowMs',
          'where expires_at_ms <= :nowMs + 60000',
        ],
      },
    },
  },
  {
    claim: 'The database file shrinks while it is in use',
    test: {
      file: 'test/cli/retention-loop.test.ts',
      title: 'the file of the database shrinks while it is in use',
    },
    changes: {
      'src/store/sqlite/shrink.ts': {
        'it does not': ['    giveBack.all({});', '    return false; void giveBack;'],
      },
    },
  },
  {
    claim:
      'All that is older is deleted each time, and all of its space given back, however many steps it takes',
    test: {
      file: 'test/cli/retention-loop.test.ts',
      title: 'the file of the database shrinks while it is in use',
    },
    changes: {
      'src/cli/data/retention-loop.ts': {
        'one step of it is deleted': [
          'while (!signal.aborted && (await retention.prune(limits)))',
          'if (!signal.aborted && (await retention.prune(limits)))',
        ],
        'one step of it is given back': [
          'while (!signal.aborted && (await retention.shrink()))',
          'if (!signal.aborted && (await retention.shrink()))',
        ],
      },
    },
  },
  {
    claim:
      'The doctor warns of little room, few open files, slow encryption, a wrong clock, and a subject that is missing or that Apple refuses',
    test: { file: doctor, title: 'warns of a missing subject, of one that Apple refuses' },
    changes: {
      'src/cli/doctor/check-disk.ts': {
        'little room is enough': ['const lowDiskSpaceBytes = 1e9;', 'const lowDiskSpaceBytes = 1e8;'],
        'no room is a warning': [
          "bytes < minDiskSpaceBytes ? 'fault' : 'warning'",
          "bytes < 0 ? 'fault' : 'warning'",
        ],
        'hardly any room is a warning': ['minDiskSpaceBytes = 50e6', 'minDiskSpaceBytes = 5e6'],
      },
      'src/cli/doctor/check-machine.ts': {
        'few files are enough': ['const enoughFiles = 4096;', 'const enoughFiles = 1024;'],
        'it reads the limit that could be set': ['/^Max open files +(', '/^Max open files +\\S+ +('],
        'slow encryption is fine': ['if (reason === undefined) return', "if (reason !== '') return"],
      },
      'src/cli/doctor/check-clock.ts': {
        'a clock may be minutes off': ['toleratedMs = 60 * secondMs', 'toleratedMs = 170 * secondMs'],
        'one push service decides': ['differences[Math.floor(differences.length / 2)]', 'differences.at(-1)'],
      },
    },
  },
  {
    claim:
      'The doctor checks every page of the database, its schema and the rights of the directory, and its exit code tells of a fault',
    test: { file: doctor, title: 'names each fault of the data with its cure' },
    changes: {
      'src/store/sqlite/inspect-database.ts': {
        'pages are not looked at': [
          "if (first?.['integrity_check'] === 'ok') return;",
          "if (first?.['integrity_check'] !== '') return;",
        ],
        'it does not see what a process that runs has written': [
          'withDatabase(readWriteUrl(path), path,',
          'withDatabase(immutableUrl(path), path,',
        ],
      },
      'src/cli/doctor/check-data.ts': {
        'an old schema is fine': [
          'if (schema === newestSchema) return ok(`whole',
          'if (schema > 0) return ok(`whole',
        ],
        'keys are not looked for': ['if (missing.length > 0)', 'if (missing.length > 99)'],
      },
      'src/cli/commands/doctor.ts': {
        'the exit code is 0': [
          "filter(({ status }) => status === 'fault').length",
          "filter(({ status }) => status === 'ok' && false).length",
        ],
      },
    },
  },
  {
    claim: 'The doctor names the versions, the proxy, and each push service that the service lists',
    test: { file: doctor, title: 'names what is fine and exits with 0' },
    changes: {
      'src/cli/doctor/check-machine.ts': {
        'it does not name its own version': ['`Deskbell ${packageVersion()}, Node', '`Node'],
      },
      'src/cli/doctor/check-network.ts': {
        'it does not name the proxy': ['ok(`${hostname}:${port}${except}`)', "ok('there is one')"],
        'it looks at those of browsers alone': ['[...vendorOrigins, ...named]', '[...vendorOrigins]'],
      },
    },
  },
  {
    claim:
      'A pause of sending includes broadcasts that are being prepared, and not those that are paused already',
    test: { file: 'test/store/audiences-suite.ts', title: 'where sending is paused, so is the preparation' },
    changes: {
      'src/store/sending.ts': {
        'it goes on with the others': [
          'is_paused = 1 where is_paused = 0 returning broadcast_id',
          'is_paused = 1 returning broadcast_id',
        ],
        'they go on': [
          'is_paused = 1 where is_paused = 0 returning broadcast_id',
          'is_paused = 0 where is_paused = 0 returning broadcast_id',
        ],
      },
    },
  },
  {
    claim: 'A restore leaves the settings of the new directory alone',
    test: { file: backup, title: 'without keys holds no secret of them' },
    changes: {
      [restore]: {
        'they are replaced': [
          'await linkUnlessThere(storedSettingsPath(draft),',
          'await copyFile(storedSettingsPath(draft),',
        ],
      },
    },
  },
  {
    claim: 'Every `serve` logs which other processes deliver, whether it delivers itself or not',
    test: {
      file: 'test/cli/report-delivery.test.ts',
      title: 'other processes that deliver are reported by each process',
    },
    changes: {
      'src/cli/serve/report-delivery.ts': {
        'one that delivers logs itself alone': ['    report.worker &&', '    report.worker && !delivers &&'],
        'it is another process itself': ['machine === hostname() &&', 'machine !== hostname() &&'],
        'it is every process with its id': ['machine === hostname() && processId', 'processId'],
      },
    },
  },
];
