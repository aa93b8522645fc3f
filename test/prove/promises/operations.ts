// Promises of docs/operations.md.
import type { DocumentedPromise } from '../promise.ts';

const retention = 'test/store/retention-suite.ts';

export const operations: readonly DocumentedPromise[] = [
  {
    claim:
      'A backup with keys has the private half of each key that its database names, also while the pair is rotated',
    test: { file: 'test/cli/backup.test.ts', title: 'a backup has the private half of each key' },
    changes: {
      'src/cli/data/back-up.ts': {
        'the database is copied after the keys are read': [
          'const secrets = withKeys ? await readSecretFiles(directory) : [];',
          'const secrets = withKeys ? await readSecretFiles(directory) : []; await copyDatabase(databasePathOf(directory), temporary);',
        ],
      },
      'src/keys/secret-files.ts': {
        'the current pair is read after the others were listed': [
          '[...fixed,',
          '[...(await readFiles(directory, fixedNames)),',
        ],
      },
    },
  },
  {
    claim: 'A restore pauses every broadcast that was running or scheduled',
    test: { file: 'test/cli/backup.test.ts', title: 'a restore leaves no broadcast running' },
    changes: {
      'src/store/sending.ts': {
        'scheduled ones go on': [
          "set state = 'paused' where state = 'running' returning id",
          "set state = 'paused' where state = 'running' and start_at_ms <= created_at_ms returning id",
        ],
      },
      'src/cli/data/restore.ts': {
        'it pauses none': ["await store.sending.pause('restored');", ''],
      },
    },
  },
  {
    claim: 'What is kept of a broadcast is kept from its end on, however long ago it began',
    test: { file: retention, title: 'counts from the end of a broadcast' },
    changes: {
      'src/store/retention.ts': {
        'it counts from the start': ['coalesce(b.finished_at_ms, b.expires_at_ms)', 'b.start_at_ms'],
      },
    },
  },
  {
    claim: 'A broadcast that is paused is kept, with its attempts, however old it is',
    test: { file: retention, title: 'keeps a broadcast that is paused' },
    changes: {
      'src/store/retention.ts': {
        'a pause counts as an end': [
          "b.state in ('done', 'cancelled')",
          "b.state in ('done', 'cancelled', 'paused')",
        ],
      },
    },
  },
  {
    claim: 'A clock that is more than three minutes off those of push services is warned of, once',
    test: {
      file: 'test/delivery/clock-check.test.ts',
      title: 'a difference of more than three minutes is told once',
    },
    changes: {
      'src/delivery/clock-check.ts': {
        'half an hour is tolerated': ['toleratedClockMs = 3 * 60_000', 'toleratedClockMs = 30 * 60_000'],
        'each answer warns': ['if (isWrong && !this.#isWrong)', 'if (isWrong)'],
      },
    },
  },
  {
    claim: 'The doctor finds a secret that cannot be used, and says what a new one costs',
    test: { file: 'test/keys/owners.test.ts', title: 'doctor sees a broken secret' },
    changes: {
      'src/cli/doctor/check-data.ts': {
        'secrets are not read': ['  await checkSecrets(directory);', ''],
      },
    },
  },
  {
    claim: 'Where sending is paused, as in a restored store, schedules and webhook events wait',
    test: { file: 'test/store/sending-suite.ts', title: 'has schedules and webhook events wait' },
    changes: {
      'src/store/schedules.ts': { 'schedules go on': ['and ${isNotPaused}', ''] },
      'src/store/webhook-outbox.ts': { 'events are posted': ['and ${isNotPaused}', ''] },
    },
  },
  {
    claim: 'What schedules have missed while sending was paused is left out',
    test: {
      file: 'test/delivery/resume-sending.test.ts',
      title: 'what a schedule misses during the pause is left out',
    },
    changes: {
      'src/delivery/resume-sending.ts': {
        'it is sent at once': ['if (!withMissed) await leaveOutMissed(store);', ''],
      },
    },
  },
  {
    claim:
      'A key file that subscriptions need and that is missing is told by doctor, keys list, serve, worker and /readyz',
    test: {
      file: 'test/cli/missing-keys.test.ts',
      title: 'a missing key file that subscriptions need is told',
    },
    changes: {
      'src/keys/missing-keys.ts': {
        'only the current key is looked for': [
          "subscriptions > 0 || state === 'current'",
          "state === 'current'",
        ],
      },
      'src/cli/commands/worker.ts': {
        'the worker starts without a word': ['onWarning(`${detail} ${remedy}`);', 'void [detail, remedy];'],
      },
    },
  },
];
