// Promises of docs/sending.md on what differs by reader: local times, quiet hours, channels and texts.
import type { DocumentedPromise } from '../promise.ts';

const splits = 'test/store/split-audiences-suite.ts';
const wholes = 'test/delivery/readers.test.ts';
const options = 'test/delivery/reader-options.test.ts';
const zoneTimes = 'test/audience/zone-time.test.ts';
const zoneTime = 'src/audience/zone-time.ts';
const readerTimes = 'src/store/reader-times.ts';
const readerOptions = 'src/delivery/broadcast/reader-options.ts';
const runSchedules = 'src/delivery/schedule/run-schedules.ts';

export const sendingToReaders: readonly DocumentedPromise[] = [
  {
    claim:
      'A local time that clocks skip is the next minute that there is, and one that comes twice the first',
    test: { file: zoneTimes, title: 'a time in the ' },
    changes: {
      [zoneTime]: {
        'it is the last minute before the gap': ['return after * minuteMs;', 'return before * minuteMs;'],
        'it is the second of the two': ['one - other);', 'other - one);'],
      },
    },
  },
  {
    claim:
      'A local time without a date is the next one from the start on, by the clocks of the broadcast’s zone',
    test: { file: zoneTimes, title: 'the next time of a day is counted in days of the zone' },
    changes: {
      [zoneTime]: {
        'it may be over': ['return atMs < wallMs ? atMs + dayMs : atMs;', 'return atMs;'],
        'it is always tomorrow’s': ['return atMs < wallMs ? atMs + dayMs : atMs;', 'return atMs + dayMs;'],
      },
    },
  },
  {
    claim:
      'Each reader gets a message at the local time of their zone, at once where it is over at the start',
    test: { file: splits, title: 'a group is not free before its local time' },
    changes: {
      [readerTimes]: {
        'zones do not differ': ['toInstant(wallMs, zone)', "toInstant(wallMs, 'UTC')"],
        'where it is over it is the next day’s': [
          'const dueMs = Math.max(localMs, startAtMs);',
          'const dueMs = localMs < startAtMs ? localMs + 24 * 60 * minuteMs : localMs;',
        ],
      },
      'src/store/preparations.ts': {
        'nothing waits for it': ['set lease_until_ms = :fromMs', 'set lease_until_ms = :fromMs * 0'],
      },
    },
  },
  {
    claim: 'With `--if-time-passed skip`, readers whose local time is over at the start get nothing',
    test: { file: splits, title: 'those whose local time is over are left out' },
    changes: {
      'src/store/split-audience.ts': {
        'they get it at once': [
          "&& times.ifTimePassed === 'skip') return",
          '&& times.ifTimePassed === null) return',
        ],
      },
    },
  },
  {
    claim:
      'Quiet hours hold a message until they end by the clocks of its reader, unless its TTL is over by then',
    test: { file: splits, title: 'quiet hours hold a group until they end' },
    changes: {
      [readerTimes]: {
        'it is free in them': ['const fromMs = isHeld ? quietEndMs : dueMs;', 'const fromMs = dueMs;'],
        'it is held however long they last': [' && quietEndMs < dueMs + lifetimeMs;', ';'],
        'zones do not differ': [
          'endOfQuietHours(quiet, zone, dueMs)',
          "endOfQuietHours(quiet, 'Etc/GMT-9', dueMs)",
        ],
      },
    },
  },
  {
    claim: 'Quiet hours hold a message with a TTL of less than an hour as long as one with a TTL of an hour',
    test: { file: splits, title: 'quiet hours hold a group until they end' },
    changes: {
      [readerTimes]: {
        'its own TTL counts': ['quietEndMs < dueMs + lifetimeMs', 'quietEndMs < dueMs + ttlSeconds * 1000'],
        'a short TTL counts as more than an hour': [
          'const minLifetimeMs = 60 * 60 * 1000;',
          'const minLifetimeMs = 90 * 60 * 1000;',
        ],
      },
    },
  },
  {
    claim: 'What was not tried yet expires its TTL, an hour at least, after the local time of its own reader',
    test: { file: 'test/delivery/assignment.test.ts', title: 'a row that was not tried yet expires' },
    changes: {
      'src/delivery/worker/assignment.ts': {
        'it is that after the last reader': ['hasReaderTimes(broadcast)\n', 'hasReaderTimes({})\n'],
        'it is that of the broadcast’s own zone': [
          'createReaderTimes(broadcast)(reader?.timeZone)',
          'createReaderTimes(broadcast)(undefined)',
        ],
      },
    },
  },
  {
    claim: 'What would be over before quiet hours end counts as `expired`, and is not sent',
    test: { file: wholes, title: 'what would be over before quiet hours end' },
    changes: {
      'src/delivery/worker/worker.ts': {
        'it is sent in them': ['if (quietEndMs !== undefined) return {', 'if (quietEndMs === 0) return {'],
      },
    },
  },
  {
    claim: 'Quiet hours are looked at again when a message is about to be sent, by the zone of its reader',
    test: { file: wholes, title: 'what quiet hours hold when it is about to be sent' },
    changes: {
      'src/delivery/worker/worker.ts': {
        'what is tried again is sent in them': [
          'const quietEndMs = assignment.quietEnd(row, nowMs);',
          'const quietEndMs = assignment.slice && assignment.quietEnd(row, nowMs);',
        ],
        'it is sent in them': ['if (quietEndMs !== undefined) return {', 'if (quietEndMs === 0) return {'],
      },
      'src/delivery/worker/record.ts': {
        'it expires': ['if (now() + delayMs >= row.tries', 'if (now() + delayMs < row.tries'],
        'it is tried again at once': [
          'retry: { ...row.tries, delayMs } }',
          'retry: { ...row.tries, delayMs: 0 } }',
        ],
      },
    },
  },
  {
    claim: 'What is tried again keeps the text and the time zone of its reader',
    test: { file: splits, title: 'a row that is tried again keeps its text' },
    changes: {
      'src/store/sqlite/commit-page.ts': {
        'the text is the message’s own': [
          'addRetry.run({ ...values, language, timeZone });',
          'addRetry.run({ ...values, language: null, timeZone });',
        ],
      },
      'src/store/postgres/functions/commit-page.sql': {
        'the time zone is the broadcast’s own': [
          'p.refusals, p.refused_by, p.refused_since_ms, p.doubts, p.language, p.time_zone',
          'p.refusals, p.refused_by, p.refused_since_ms, p.doubts, p.language, null',
        ],
      },
    },
  },
  {
    claim: 'What is tried again is filled with the data of its reader',
    test: { file: wholes, title: 'each reader gets the text of their language' },
    changes: {
      'src/delivery/worker/workload.ts': {
        'it has the defaults': [
          'const data = await payloads.dataOf(broadcast, rows);',
          'const data = (void rows, {});',
        ],
      },
    },
  },
  {
    claim: 'A row is `rejected`, and not sent, where a value is missing when it is tried again',
    test: { file: wholes, title: 'what lacks a value by the time that it is tried again' },
    changes: {
      'src/delivery/worker/worker.ts': {
        'it is sent without contents': [
          'if (fault !== undefined)',
          'if (assignment.slice && fault !== undefined)',
        ],
      },
    },
  },
  {
    claim: 'Language and time zone are those of the person, else those that the browser has sent',
    test: { file: splits, title: 'language and time zone are those of the person' },
    changes: {
      'src/store/sqlite/audiences.ts': {
        'the language of the browser holds first': [
          'coalesce(p.language, s.language)',
          'coalesce(s.language, p.language)',
        ],
        'the zone of the browser holds first': [
          'coalesce(p.time_zone, s.time_zone)',
          'coalesce(s.time_zone, p.time_zone)',
        ],
        'they are those of another person whose name differs in upper and lower case': [
          'left join deskbell.people p on p.user_name = s.user',
          'left join deskbell.people p on lower(p.user_name) = lower(s.user)',
        ],
      },
      'src/store/postgres/member-finder.ts': {
        'the language of the browser holds first': [
          'coalesce(p.language, s.language)',
          'coalesce(s.language, p.language)',
        ],
        'the zone of the browser is not known': ['coalesce(p.time_zone, s.time_zone)', 'p.time_zone'],
      },
    },
  },
  {
    claim: 'A broadcast to a channel reaches only readers who have it on, by their choice or by its default',
    test: { file: splits, title: 'only those who have the channel on are reached' },
    changes: {
      'src/store/sqlite/audiences.ts': {
        'choices of persons mean nothing': ['coalesce(p.channels ->> :channel, s.', 'coalesce(s.'],
      },
      'src/store/postgres/member-finder.ts': {
        'choices of persons mean nothing': [
          'coalesce((p.channels::jsonb ->> $2)::boolean, (s.',
          'coalesce((s.',
        ],
      },
    },
  },
  {
    claim: 'A broadcast says how many readers each of its texts is for',
    test: { file: splits, title: 'each reader gets one text' },
    changes: {
      'src/store/preparations.ts': {
        'sets are counted, not readers': [
          'set recipients = recipients + :rows',
          'set recipients = recipients + sign(:rows)',
        ],
      },
      'src/store/split-audience.ts': {
        'all have the message’s own': [
          'const text = chooseLanguage(language, available);',
          'const text = undefined;',
        ],
      },
    },
  },
  {
    claim:
      'To more than one person each placeholder needs a default; to one user the values must be there before',
    test: { file: options, title: 'needs defaults for placeholders unless it is to one person' },
    changes: {
      [readerOptions]: {
        'no default is needed': [
          'if (user === undefined) return requireDefaults(placeholders);',
          'if (user === undefined) return;',
        ],
        'the values of the user are not looked at': ['createTemplate(payload).fill(data);', 'return;'],
        'those of languages are not looked at': [
          'for (const [language, text] of texts)',
          'for (const [language, text] of new Map<string, Uint8Array>())',
        ],
      },
    },
  },
  {
    claim: 'A dry run says how readers differ of the oldest subscriptions, and that there are more',
    test: { file: options, title: 'is counted for the oldest subscriptions alone' },
    changes: {
      'src/delivery/broadcast/count-readers.ts': {
        'it counts more of them': ['rows.slice(0, maxRows - lookedAt)', 'rows'],
        'it never says that there are more': ['hasMore: lookedAt > maxRows', 'hasMore: false'],
        'a channel that is off by default counts as on': [
          'channels[channel.name] ?? channel.isOnByDefault',
          'channels[channel.name] ?? true',
        ],
        'it looks at nobody of a list of ids': ['if (row !== undefined) rows.push(row);', 'void row;'],
        'it looks at everybody, whoever it is to': [
          'isExpression(audience) ? checkExpression(audience)',
          'audience === undefined ? checkExpression(audience)',
        ],
      },
    },
  },
  {
    claim: 'A dry run as JSON says when the first and when the last reader gets the message',
    test: { file: 'test/cli/send.test.ts', title: 'local times are those of this machine' },
    changes: {
      'src/cli/send/dry-run.ts': {
        'nobody is counted': ['  ...counts,\n', ''],
        'the last time is the first': ['through: isoTime(throughMs)', 'through: isoTime(fromMs!)'],
        'the last time is left out': ['throughMs !== undefined && {', 'throughMs === undefined && {'],
      },
      'src/delivery/broadcast/count-readers.ts': {
        'the last time is that of the youngest subscription': [
          'throughMs: sorted.at(-1)',
          'throughMs: timesMs[0]',
        ],
      },
    },
  },
  {
    claim: 'A list of given subscriptions gets a message at the time of the broadcast’s own zone',
    test: { file: options, title: 'to given subscriptions is for the time of its own zone' },
    changes: {
      [readerTimes]: { 'it is the time of UTC': ['? timeZone : own;', "? timeZone : 'UTC';"] },
      'src/delivery/broadcast/create-broadcast.ts': { 'it is sent at once': ['    ...ofList,', ''] },
      [readerOptions]: {
        'its TTL begins at once': [
          'return { startAtMs: fromMs, expiresAtMs }',
          'return { startAtMs: fromMs, expiresAtMs: expiresAtMs - fromMs + times.startAtMs }',
        ],
      },
    },
  },
  {
    claim: 'For a list of given subscriptions a channel counts with its default: one that is off is refused',
    test: { file: options, title: 'is refused with what to do' },
    changes: {
      [readerOptions]: {
        'it goes to all of them': ['if (channel?.isOnByDefault === false) {', 'if (channel === null) {'],
      },
    },
  },
  {
    claim:
      'A list of given subscriptions gets what has a channel that is on by default, or a local time to come',
    test: { file: options, title: 'to given subscriptions is for the time of its own zone' },
    changes: {
      [readerOptions]: {
        'one with a channel is refused': ['channel?.isOnByDefault === false', 'channel !== undefined'],
        'one that skips is refused': [
          "isPassed && times.ifTimePassed === 'skip'",
          "times.ifTimePassed === 'skip'",
        ],
        'one whose local time is over is refused': ["isPassed && times.ifTimePassed === 'skip'", 'isPassed'],
        'one without times has no start': ['  if (times === undefined) return undefined;\n', ''],
      },
    },
  },
  {
    claim: 'Of several channels, the default of the one that a broadcast names holds',
    test: { file: options, title: 'is counted for the oldest subscriptions alone' },
    changes: {
      [readerOptions]: {
        'that of the first holds': ['known.find((channel) => channel.name === name)', 'known[0]'],
      },
    },
  },
  {
    claim: 'Each occurrence of a schedule with a local time is for the next one from its own time on',
    test: { file: options, title: 'resolves it for each occurrence' },
    changes: {
      'src/delivery/broadcast/create-broadcast.ts': {
        'all have the same day': [
          'resolveTimes(given, occurrence?.atMs ?? startAtMs)',
          'resolveTimes(given, 0)',
        ],
      },
      [runSchedules]: {
        'the zone of the schedule means nothing': [
          'schedule.timeZone ?? schedule.timezone',
          "schedule.timeZone ?? 'UTC'",
        ],
        'what comes before it is made counts as over': [
          'schedule.localTime === undefined ? schedule.nowMs : atMs',
          'schedule.nowMs',
        ],
      },
    },
  },
  {
    claim: 'Where the channel of a schedule has been removed nothing is sent, and the worker logs it',
    test: { file: options, title: 'leaves an occurrence out whose channel is not there any more' },
    changes: {
      [runSchedules]: {
        'any channel that there is will do': ['name === channel);', 'name !== undefined);'],
        'where it is there, nothing is sent either': ['name === channel);', 'name === `${channel}.`);'],
        'the schedule stands still': ['(await hasChannel(schedule, options))', 'schedule !== undefined'],
        'nothing is logged': ['if (!isThere) onWarning(', 'if (isThere === undefined) onWarning('],
      },
      'src/delivery/schedule/create-schedule.ts': {
        'one for a channel that there is not is stored': ['await findChannel(delivery.channel, store);', ''],
      },
    },
  },
  {
    claim: 'Time zones are one for a broadcast only where their clocks agree until it expires',
    test: { file: zoneTimes, title: 'zones are one for a broadcast only where' },
    changes: {
      'src/store/split-audience.ts': {
        'they need not agree at its end': [
          'ends.map((atMs) => toWallTime(atMs, timeZone))',
          'toWallTime(time.fromMs, timeZone)',
        ],
        'they need not agree at all': [
          'JSON.stringify([ends, ends.map((atMs) => toWallTime(atMs, timeZone))])',
          'JSON.stringify(ends)',
        ],
      },
    },
  },
  {
    claim: 'Quiet hours are looked at anew each minute while messages are sent',
    test: { file: zoneTimes, title: 'what waits is asked anew each minute' },
    changes: {
      [readerTimes]: {
        'they are looked at once': ['if (last?.minute === minute)', 'if (last !== undefined)'],
        'they are those of the zone that was looked at last': [
          'known.set(zone, {',
          "for (const each of [zone, 'UTC']) known.set(each, {",
        ],
      },
    },
  },
  {
    claim: 'The time zone of the command line is that of the machine where `--timezone` is not given',
    test: { file: 'test/cli/send.test.ts', title: 'local times are those of this machine' },
    changes: {
      [readerOptions]: {
        'applications have it too': [
          "const { localTime, timeZone = 'UTC' } = options;",
          'const { localTime, timeZone = new Intl.DateTimeFormat().resolvedOptions().timeZone } = options;',
        ],
      },
      'src/cli/send/send-broadcast.ts': {
        'it is UTC': ['new Intl.DateTimeFormat().resolvedOptions().timeZone', "'UTC'"],
        '`--if-time-passed` means nothing': [
          'createdBy: thisCommandLine(),',
          'createdBy: thisCommandLine(), ifTimePassed: undefined,',
        ],
        'schedules have it': [
          'const { cron, timezone } = flags;',
          'const { cron, timezone = new Intl.DateTimeFormat().resolvedOptions().timeZone } = flags;',
        ],
        'only a dry run has it': [
          'withOwnZone(readDeliveryFlags(flags)), receipts',
          'readDeliveryFlags(flags), receipts',
        ],
      },
      'src/cli/commands/send.ts': {
        'a dry run has it not': [
          'withOwnZone(readDeliveryFlags(flags)), startAt',
          'readDeliveryFlags(flags), startAt',
        ],
      },
    },
  },
  {
    claim: 'The command gives a schedule no time zone for readers but that of its own times',
    test: { file: 'test/cli/schedules.test.ts', title: 'a schedule is stored, listed and removed' },
    changes: {
      'src/cli/send/send-broadcast.ts': {
        'it gives that of other broadcasts': [
          '{ ...options, timeZone: undefined, cron,',
          '{ ...options, cron,',
        ],
        'it leaves out what comes of readers whose time is over': [
          '{ ...options, timeZone: undefined, cron,',
          '{ ...options, ifTimePassed: undefined, timeZone: undefined, cron,',
        ],
      },
    },
  },
  {
    claim: 'Each occurrence of a schedule has the options of delivery that the schedule was given',
    test: { file: options, title: 'resolves it for each occurrence' },
    changes: {
      [runSchedules]: {
        'it has no cap per person': [
          'pickDeliveryOptions(schedule)',
          'pickDeliveryOptions({ ...schedule, perPerson: undefined })',
        ],
      },
      'src/delivery/schedule/create-schedule.ts': {
        'the schedule has no priority': [
          'receipts = false, ...delivery } = options;',
          'receipts = false, priority: _, ...delivery } = options;',
        ],
      },
    },
  },
  {
    claim: 'A schedule with a time zone for readers sends by that one, and not by the one of its own times',
    test: { file: options, title: 'resolves it for each occurrence' },
    changes: {
      [runSchedules]: {
        'quiet hours have the default': [
          '...(hasReaderTimes(schedule) && {',
          '...(schedule.localTime !== undefined && {',
        ],
        'the zone of its own times holds': ['schedule.timeZone ?? schedule.timezone', 'schedule.timezone'],
      },
    },
  },
];
