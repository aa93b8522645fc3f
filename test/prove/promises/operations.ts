// Promises of docs/operations.md.
import type { DocumentedPromise } from '../promise.ts';

const retention = 'test/store/retention-suite.ts';

const alarms = 'test/store/alarms-suite.ts';

export const operations: readonly DocumentedPromise[] = [
  {
    claim: 'A client that does not end its request keeps no server that is closed',
    test: { file: 'test/service/hostile-clients.all.test.ts', title: 'keeps no server that is closed' },
    changes: {
      'src/http/create-http-server.ts': {
        'it does': ['for (const socket of open) socket.destroy();', 'app.server.closeIdleConnections();'],
      },
    },
  },
  {
    claim: 'A server that is closed waits for requests that are under way for eleven seconds',
    test: {
      file: 'test/service/hostile-clients.all.test.ts',
      title: 'a service without options has its limits',
    },
    changes: {
      'src/http/time-limits.ts': {
        'for a minute': ['closeGraceMs: 11_000', 'closeGraceMs: 60_000'],
      },
    },
  },
  {
    claim: 'Stopping waits ten seconds for messages in flight, those that a request waits for too',
    test: { file: 'test/cli/serve.test.ts', title: 'a message that its push service does not answer' },
    changes: {
      'src/cli/commands/serve.ts': {
        'the requests are waited for first': [
          'Promise.all([operator?.close(), sender?.close(), server.close()])',
          'Promise.resolve(operator?.close()).then(() => sender?.close()).then(() => server.close())',
        ],
      },
    },
  },
  {
    claim: 'A service that is stopped while it starts closes what it has opened, and ends with 0',
    test: { file: 'test/cli/serve.test.ts', title: 'stopped while it starts, it closes' },
    changes: {
      'src/cli/commands/serve.ts': {
        'what opens later stays open': [
          '        if (sender && metrics && access) {',
          "        stop.addEventListener('abort', () => void close());\n        if (sender && metrics && access) {",
        ],
      },
    },
  },
  {
    claim: 'A service whose webhook cannot be opened closes what it has opened, and ends with 1',
    test: { file: 'test/cli/serve.test.ts', title: 'where its webhook cannot be opened' },
    changes: {
      'src/cli/serve/open-operator.ts': {
        'the operator’s listener stays open': [
          '    await listener.close();\n    throw error;',
          '    throw error;',
        ],
      },
    },
  },
  {
    claim: 'An alarm says what to do as docs/operations.md does',
    test: { file: 'test/documentation/alarms.test.ts', title: 'an alarm says what to do' },
    changes: {
      'src/delivery/alarms/work-conditions.ts': {
        'that there is no worker names no command': [
          'Start "deskbell worker" or "deskbell serve --deliver"; its log',
          'Its log',
        ],
        'that a broadcast is late names no log': ['see their log, and add workers.', 'wait.'],
      },
      'src/delivery/alarms/push-service-conditions.ts': {
        'that a push service cannot be reached names nothing to look at': [
          'Check name resolution, firewall and proxy of',
          'Wait for',
        ],
        'that all are gone names no cause': [
          ' A VAPID key that was replaced or an old copy of the database is a usual cause.',
          '',
        ],
        'that nothing is accepted leads elsewhere': [
          "const link = '/console/push-services';",
          "const link = '/console/broadcasts';",
        ],
      },
      'src/delivery/broadcast/reason-meanings.ts': {
        'that a push service is not listed names no setting': [
          'Add its origin to “pushServices” of every process that delivers, or cancel',
          'Cancel',
        ],
      },
      'src/delivery/limits/chrome-limit.ts': {
        'the limit of Chrome is said to be higher': ['com=900/min', 'com=9000/min'],
      },
    },
  },
  {
    claim: 'An alarm over what push services answer says since when, and about how many messages',
    test: {
      file: 'test/delivery/push-service-conditions.test.ts',
      title: 'an alarm says since when it is so',
    },
    changes: {
      'src/delivery/alarms/push-service-conditions.ts': {
        'it says since when the newest answers are': ['all.at(-1)!.startMs', 'all[0]!.startMs'],
        'it counts the newest answers alone': ['countOf(all.reduce(add, noAnswers))', 'countOf(judged)'],
      },
    },
  },
  {
    claim: '`deskbell alarms list` says about how many an alarm is, and which broadcasts have it',
    test: { file: 'test/cli/alarms.test.ts', title: 'lists what is wrong' },
    changes: {
      'src/cli/commands/alarms.ts': {
        'it does not say how many': ["...(count === '' ? [] : [count]),", ''],
        'it names no broadcast': ["[`broadcasts ${broadcastIds.join(', ')}`]", '[]'],
      },
    },
  },
  {
    claim: 'An alarm over work says about how much it is, and that there may be more',
    test: { file: 'test/documentation/alarms.test.ts', title: 'an alarm says about how many' },
    changes: {
      'src/store/alarms.ts': { 'less is looked at': ['maxDue = 20;', 'maxDue = 10;'] },
      'src/delivery/alarms/work-conditions.ts': {
        'there are no more broadcasts': ['isAtLeast: broadcasts.length === maxDue', 'isAtLeast: false'],
        'there are no more schedules': ['isAtLeast: schedules.length === maxDue', 'isAtLeast: false'],
      },
    },
  },
  {
    claim: '`GET /v1/alarms` says since when an alarm stands, and where it is mended',
    test: { file: 'test/operator/api.test.ts', title: 'alarms are listed as long as they stand' },
    changes: {
      'src/views/standing-alarm.ts': {
        'it does not say since when': ['isoTime(sinceMs),', 'undefined,'],
        'it does not name the push service': ['pushService: pushService || undefined,', ''],
        'it does not say what went wrong': ['detail: detail || undefined,', ''],
      },
      'src/delivery/alarms/push-service-conditions.ts': {
        'it leads to another page': [
          "const link = '/console/push-services';",
          "const link = '/console/keys';",
        ],
      },
    },
  },
  {
    claim: 'The API says when an alarm was acknowledged',
    test: { file: 'test/operator/api.test.ts', title: 'alarms are listed as long as they stand' },
    changes: {
      'src/views/standing-alarm.ts': {
        'another time': ['at: isoTime(acknowledgement.atMs),', 'at: isoTime(0),'],
      },
    },
  },
  {
    claim: 'The console leads from an alarm to the page where it is mended',
    test: { file: 'test/operator/console-pages.test.ts', title: 'an alarm says what it means' },
    changes: {
      'src/operator/console/alarms.ts': {
        'it does not': ['<a href="${link}">${nameOf(link)}</a>', ''],
      },
    },
  },
  {
    claim: 'A push service that cannot be reached is one alarm, about as many machines as cannot',
    test: { file: 'test/delivery/watch-push-services.test.ts', title: 'is known from the reports of all' },
    changes: {
      'src/delivery/alarms/push-service-conditions.ts': {
        'it counts one': ['count: machines.length,', 'count: 1,'],
      },
    },
  },
  {
    claim: 'A key that was retired is not reported as missing',
    test: { file: 'test/keys/missing-keys.test.ts', title: 'a key that was retired' },
    changes: {
      'src/keys/missing-keys.ts': {
        'it is': ['hasPrivateHalf(state) && !present', '!present'],
      },
    },
  },
  {
    claim: 'Settings are in every backup, with keys and without',
    test: { file: 'test/cli/backup.test.ts', title: 'without keys holds no secret of them' },
    changes: {
      'src/cli/data/back-up.ts': {
        'they are with keys alone': [
          '...(await readSettings(directory)),',
          '...(withKeys ? await readSettings(directory) : []),',
        ],
      },
    },
  },
  {
    claim: '`deskbell sending show` prints what is waiting',
    test: { file: 'test/cli/sending.test.ts', title: 'is what "sending pause" makes of a copy' },
    changes: {
      'src/cli/commands/sending.ts': {
        'it prints that there is a pause': [
          '`${describePause(pause)}\\n${',
          '`${describePause(pause)}${void ',
        ],
      },
    },
  },
  {
    claim: '`deskbell sending resume` names neither what it starts nor what it sends as left behind',
    test: { file: 'test/cli/sending.test.ts', title: 'is what "sending pause" makes of a copy' },
    changes: {
      'src/cli/commands/sending.ts': {
        'it names broadcasts that go on': [
          'left.broadcastIds.filter((id) => !resumed.includes(id))',
          'left.broadcastIds',
        ],
        'it names times that are made up for': ['withMissed ? [] : before.missed', 'before.missed'],
        'it says so where sending was not paused': [
          'if (before.pause === undefined)',
          "if (flags.json === 'x')",
        ],
      },
      'src/cli/output/format-resumption.ts': {
        'the next time of schedules is one that they missed': [
          'schedules.filter((schedule) => !missed.includes(schedule)).map(',
          'schedules.map(',
        ],
      },
    },
  },
  {
    claim: '`worker` prints a line for each alarm',
    test: { file: 'test/cli/broadcasts.test.ts', title: 'a serve logs what others deliver' },
    changes: {
      'src/cli/commands/worker.ts': {
        'it prints the state of the broadcast': [
          'toJson(event), formatEvent(event)',
          "toJson(event), formatEvent({ ...event, kind: 'state' })",
        ],
      },
    },
  },
  {
    claim:
      'An alarm of a broadcast stands while the broadcast runs and for a day after its end; several broadcasts have one, with the largest number',
    test: { file: alarms, title: 'what a running broadcast has raised stands' },
    changes: {
      'src/store/alarms.ts': {
        'it is dropped by age': [
          'where a.is_past = 0 and',
          'where a.first_at_ms > :pastMs and a.is_past = 0 and',
        ],
        'the smallest number is shown': ['max(a.rows) as rows', 'min(a.rows) as rows'],
        'it ends with the broadcast': ['export const alarmsKeptMs = 24 *', 'export const alarmsKeptMs = 0 *'],
      },
      'src/store/retention.ts': {
        'it ends when older data is deleted': [
          'notePastAlarms(database.now() - alarmsKeptMs)',
          'notePastAlarms(database.now())',
        ],
      },
    },
  },
  {
    claim: 'Work that has been due for a minute without a worker is an alarm',
    test: { file: alarms, title: 'work that is due without a worker' },
    changes: {
      'src/delivery/alarms/work-conditions.ts': {
        'it is none': [
          'if (!hasWorker) return',
          'if (!hasWorker) return { alarms: [], lateness }; if (!hasWorker) return',
        ],
        'what has begun is late with a worker': ['!hasWorker || !hasBegun', '!hasWorker || hasBegun'],
        'it is one at once': ['export const lateAfterMs = 60_000', 'export const lateAfterMs = 1'],
        'who sends single messages alone is one': [
          "senders.some(({ kind }) => kind === 'worker')",
          'senders.length > 0',
        ],
      },
    },
  },
  {
    claim: 'Work is due in whatever form it waits, of any priority, and `no-worker` is about all that is due',
    test: { file: alarms, title: 'work is due in whatever form it waits' },
    changes: {
      'src/store/alarms.ts': {
        'that of high priority is not': ['[false, true].flatMap', '[false].flatMap'],
        'what is to be tried again is not': ["firstOf('retries_at_ms <= :nowMs', 'retries_at_ms'),", ''],
        'what was leased by who has ended is not': [
          "firstOf(`is_high = ${isHigh} and slices_at_ms <= :nowMs`, 'slices_at_ms, broadcast_id'),",
          '',
        ],
        'what is left beside a lease is not': [
          "firstOf(`is_high = ${isHigh} and next_slice is not null`, 'next_slice, broadcast_id'),",
          '',
        ],
        'it is due since the start, though it was leased': [
          'Math.max(startAtMs ?? nowMs, freeSinceMs)',
          'startAtMs ?? nowMs',
        ],
      },
      'src/delivery/alarms/work-conditions.ts': {
        'it is due since the start, though messages were sent': [
          'Math.max(due.sinceMs, lastSentAtMs)',
          'due.sinceMs',
        ],
        'one broadcast is counted': ['count: broadcasts.length,', 'count: 1,'],
        'it leads to one of several broadcasts': ['broadcasts.length === 1 ?', 'broadcasts.length > 0 ?'],
      },
    },
  },
  {
    claim: 'A broadcast that is being prepared is due too, unless it is paused',
    test: { file: alarms, title: 'an audience that nobody prepares' },
    changes: {
      'src/store/alarms.ts': {
        'it is due while it is paused': ['p.is_paused = 0 and ', ''],
        'it has begun for those who have a worker': [
          '({ ...row, hasBegun: false })',
          '({ ...row, hasBegun: true })',
        ],
      },
    },
  },
  {
    claim:
      '`schedule-late` is about all schedules that are due, names them, and leaves out those that are paused',
    test: { file: alarms, title: 'a schedule whose time has passed is late' },
    changes: {
      'src/store/alarms.ts': { 'one that is paused is late': ['and paused_at_ms is null ', ''] },
      'src/delivery/alarms/work-conditions.ts': {
        'one is counted': ['count: schedules.length,', 'count: 1,'],
        'it names none': [' Schedules: ${namesOf(late)}.', ''],
      },
    },
  },
  {
    claim: '`deletions-held` says since when, and names the broadcasts that have met it at this push service',
    test: { file: alarms, title: 'what waits for a decision is not said twice' },
    changes: {
      'src/delivery/alarms/push-service-conditions.ts': {
        'it names none': ['broadcastIds: broadcastsOf(origin),', ''],
      },
      'src/delivery/alarms/read-alarms.ts': {
        'it names those of another one': [
          'alarm.origin === origin && alarm.reason === heldDeletionsReason',
          'alarm.reason === heldDeletionsReason',
        ],
      },
    },
  },
  {
    claim:
      'An alarm of several broadcasts leads to their push services, and counts that differ to the newest one',
    test: { file: alarms, title: 'counts that differ stand as long' },
    changes: {
      'src/delivery/alarms/read-alarms.ts': {
        'these too lead to push services': [" || origin === ''", ''],
      },
    },
  },
  {
    claim: 'An alarm of several broadcasts leads to the console’s page Push services',
    test: { file: alarms, title: 'an acknowledgement ends when' },
    changes: {
      'src/delivery/alarms/read-alarms.ts': {
        'it leads to the newest broadcast': ['broadcastIds.length === 1 ||', 'broadcastIds.length >= 1 ||'],
      },
    },
  },
  {
    claim:
      'What is wrong with an installation leads to where it is mended, and is behind the others once it is known',
    test: {
      file: 'test/delivery/resume-sending.test.ts',
      title: 'a pause, and a clock that push services contradict',
    },
    changes: {
      'src/delivery/alarms/read-alarms.ts': {
        'a pause leads elsewhere': [
          "'Sending is paused', link: '/console/broadcasts'",
          "'Sending is paused', link: '/console/keys'",
        ],
        'a key leads elsewhere': ["link: '/console/keys'", "link: '/console/push-services'"],
        'a clock leads elsewhere': [
          "'The clock is wrong', link: '/console/push-services'",
          "'The clock is wrong', link: '/console/keys'",
        ],
        'a pause is about one broadcast': ['count: broadcastIds.length,', 'count: 1,'],
        'what is known stays where it was': ['Number(isKnown(one)) - Number(isKnown(other))', '0'],
      },
    },
  },
  {
    claim:
      'A push service that accepts at most 5 % of its newest answers, or calls 95 % gone, is an alarm until it accepts messages again',
    test: { file: alarms, title: 'a push service that calls all gone' },
    changes: {
      'src/delivery/alarms/push-service-conditions.ts': {
        'those that call all gone are not told from the others': [
          "['all-gone', 'accepts-nothing']",
          "['accepts-nothing']",
        ],
        'what waits for a decision is said twice': ['!isNamed(pushService)', 'true'],
        'it stands for ever': ['if (sum(judged) >= judgedAnswers) break;', 'if (sum(judged) >= 1000) break;'],
      },
    },
  },
  {
    claim: 'An acknowledgement ends when the condition ends, concerns twice as many, or begins again',
    test: { file: alarms, title: 'an acknowledgement ends when' },
    changes: {
      'src/delivery/alarms/standing-alarm.ts': {
        'it stays while it gets worse': ['!isTwice(count, acknowledgement.count) &&', ''],
        'one more ends it': ['now >= 2 * then', 'now >= then + 1'],
        'it stays for twice as many broadcasts': [
          '!isTwice(broadcastIds.length, acknowledgement.broadcasts)',
          'broadcastIds.length >= 0',
        ],
        'it is taken for one that begins again': ['sinceMs <= acknowledgement.atMs &&', ''],
      },
      'src/delivery/alarms/read-alarms.ts': {
        'it stays after the end': ['if (known.size > 0) await', 'if (known.size > 99) await'],
      },
    },
  },
  {
    claim: 'Whoever acknowledges an alarm again replaces name, note, time and extent of the acknowledgement',
    test: { file: alarms, title: 'an acknowledgement ends when' },
    changes: {
      'src/store/alarms.ts': {
        'the name stays': ['set operator = excluded.operator, note', 'set note'],
        'the note stays': ['note = excluded.note,', ''],
        'the time stays': ['at_ms = excluded.at_ms, count', 'count'],
        'the extent stays': [
          'at_ms = excluded.at_ms, count = excluded.count, broadcasts = excluded.broadcasts',
          'at_ms = excluded.at_ms',
        ],
      },
    },
  },
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
          '[...fixed, ...(await readFiles(directory, await listPairFiles(directory)))]',
          '[...(await readFiles(directory, await listPairFiles(directory))), ...(await readFiles(directory, fixedNames))]',
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
      'src/store/alarms.ts': {
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
        'six minutes are tolerated': [
          'Math.abs(differenceMs) > toleratedClockMs',
          'Math.abs(differenceMs) > 2 * toleratedClockMs',
        ],
      },
    },
  },
  {
    claim: 'Senders of single messages and of broadcasts warn of the clock, and report it to all processes',
    test: {
      file: 'test/delivery/clock-check.test.ts',
      title: 'a sender whose store has a wrong time warns',
    },
    changes: {
      'src/delivery/message-path/message-path.ts': {
        'they do not warn': ['new ClockCheck(onWarning)', 'new ClockCheck(() => {})'],
        'they do not report it': [
          'transport, kind, clockCheck)',
          'transport, kind, { differenceMs: undefined })',
        ],
      },
      'src/delivery/single/single-messages.ts': {
        'those of single messages do not report': ["path.startReport('single')", 'async () => {}'],
      },
      'src/delivery/worker/create-worker.ts': {
        'workers do not report': ["path.startReport('worker')", 'async () => {}'],
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
    claim: 'Times that pass while a schedule is paused are not made up for',
    test: {
      file: 'test/delivery/schedules.test.ts',
      title: 'while a schedule is paused are not made up for',
    },
    changes: {
      'src/store/schedules.ts': {
        'a pause changes nothing': ['and d.paused_at_ms is null ', ''],
        'what has passed is due at the end': [
          'paused_at_ms = null, next_at_ms = :nextAtMs',
          'paused_at_ms = null, lease_until_ms = :nextAtMs * 0',
        ],
      },
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
        'it is left out for the first schedule alone': [
          'of await schedules.list())',
          'of (await schedules.list()).slice(0, 1))',
        ],
      },
    },
  },
  {
    claim: '`deskbell sending show` lists no schedule that is paused itself',
    test: {
      file: 'test/delivery/resume-sending.test.ts',
      title: 'what a schedule misses during the pause is left out',
    },
    changes: {
      'src/delivery/resume-sending.ts': {
        'it lists all schedules': ['stored.filter(({ pausedAtMs }) => pausedAtMs === undefined)', 'stored'],
      },
    },
  },
  {
    claim: '`deskbell sending show` lists no broadcast that was cancelled since the pause',
    test: {
      file: 'test/delivery/resume-sending.test.ts',
      title: 'workers send what is asked for during the pause',
    },
    changes: {
      'src/delivery/resume-sending.ts': {
        'it lists all that were paused': ["found.filter(({ state }) => state === 'paused')", 'found'],
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
  {
    claim: 'The command, the API and the metrics of each process have the same list of alarms',
    test: {
      file: 'test/cli/missing-keys.test.ts',
      title: 'a missing key file that subscriptions need is told',
    },
    changes: {
      'src/cli/commands/alarms.ts': {
        'the command looks for no key files': [
          'createWarningReader(store, vapidKeys.keyDirectory)',
          'createWarningReader(store, vapidKeys && undefined)',
        ],
      },
      'src/cli/commands/serve.ts': {
        'the metrics of serve have none of the installation': [
          'createMetrics(store, { readWarnings, readMachine })',
          'createMetrics(store, { readMachine })',
        ],
        'the API has none of the installation': [
          '{ sender, metrics, log, readWarnings, defaultTitle',
          '{ sender, metrics, log, defaultTitle',
        ],
      },
      'src/cli/commands/worker.ts': {
        'the metrics of a worker have none of the installation': [
          'createMetrics(data.store, { readWarnings, readMachine })',
          'createMetrics(data.store, { readMachine })',
        ],
      },
    },
  },
  {
    claim: 'The watchdog of systemd gets a ping three times in the time that it waits',
    test: { file: 'test/packaging-files.test.ts', title: 'systemd is told three times' },
    changes: {
      'src/cli/serve/systemd-notify.ts': {
        'it gets one': ['watchdogMs / 3)', 'watchdogMs)'],
      },
    },
  },
  {
    claim: '`worker` tells systemd how it is, as `serve` does',
    test: { file: 'test/packaging-files.test.ts', title: 'a service that cannot tell systemd' },
    changes: {
      'src/cli/commands/worker.ts': {
        'it does not': [
          'underSystemd(context, onWarning,',
          'underSystemd({ ...context, environment: {} }, onWarning,',
        ],
      },
    },
  },
  {
    claim: 'Each of fifty broadcasts that are made between two looks is logged',
    test: { file: 'test/delivery/watch-broadcasts.test.ts', title: 'a broadcast that sixty newer ones' },
    changes: {
      'src/delivery/broadcast/watch-broadcasts.ts': {
        'one of ten is': ['const newestCount = 50;', 'const newestCount = 5;'],
      },
    },
  },
  {
    claim: 'Deletions wait since the first subscription was called gone',
    test: { file: alarms, title: 'a push service that calls all gone' },
    changes: {
      'src/store/postgres/portable-database.ts': {
        'they wait since the last': ['order by marked_at_ms limit 1', 'order by marked_at_ms desc limit 1'],
      },
    },
  },
  {
    claim: 'While the disk is full, processes that deliver look for free space every second',
    test: { file: 'test/delivery/full-disk.all.test.ts', title: 'a worker looks every second' },
    changes: {
      'src/delivery/worker/wait-for-disk-space.ts': {
        'they do every ten': ['tryAgainAfterMs = 1000;', 'tryAgainAfterMs = 10_000;'],
        'they say so each time': ['        isWaiting = true;', ''],
      },
    },
  },
  {
    claim: 'Deletions that wait are not also reported as `all-gone`, also where a vendor has many hosts',
    test: { file: 'test/store/alarms-suite.ts', title: 'what waits for a decision is not said twice' },
    changes: {
      'src/delivery/alarms/read-alarms.ts': {
        'hosts are compared with names of vendors': ['.map(pushServiceName));', '.map(hostOf));'],
      },
    },
  },
  {
    claim: 'The doctor takes the origin of the public URL for the contact where no other is given',
    test: { file: 'test/cli/doctor.test.ts', title: 'names what is fine and exits with 0' },
    changes: {
      'src/cli/commands/doctor.ts': {
        'it says that there is none': [
          'checkSubject(contactOf(configuration))',
          'checkSubject(configuration.subject && contactOf(configuration))',
        ],
      },
    },
  },
  {
    claim: '`serve` and `worker` go on where nobody reads their output any longer',
    test: { file: 'test/cli/processes.test.ts', title: 'goes on delivering until it is told to stop' },
    changes: {
      'src/cli/run-process.ts': { 'they stop': ['closed.abort(fault);', 'stop.abort(fault);'] },
    },
  },
];
