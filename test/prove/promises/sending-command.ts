// Promises of docs/sending.md on what the command prints of broadcasts.
import type { DocumentedPromise } from '../promise.ts';

export const sendingByCommand: readonly DocumentedPromise[] = [
  {
    claim:
      'The outcomes as CSV have a line with the last attempt for each subscription; as JSON Lines, every attempt',
    test: {
      file: 'test/operator/outcomes.test.ts',
      title: 'a line of CSV has the last attempt and what is awaited, JSON has every attempt',
    },
    changes: {
      'src/views/outcomes-csv.ts': {
        'the time is that of the first attempt': [
          'last_attempt_at: ({ attempts: [last] }: RowOutcome): Cell => time(last?.atMs)',
          'last_attempt_at: ({ attempts }: RowOutcome): Cell => time(attempts.at(-1)?.atMs)',
        ],
        'the end of a row that waits is the time of its next attempt': [
          'time(wait?.expiresAtMs)',
          'time(wait?.untilMs)',
        ],
      },
      'src/views/row-outcome.ts': {
        'JSON has the last attempt only': [
          'attempts: attempts.map(attemptView.toJson)',
          'attempts: attempts.slice(0, 1).map(attemptView.toJson)',
        ],
      },
    },
  },
  {
    claim:
      '`show --attempts` names rows that were settled without an attempt too, or those of one subscription',
    test: {
      file: 'test/cli/broadcasts.test.ts',
      title: 'the list has a column for each count that one of its broadcasts has; show names',
    },
    changes: {
      'src/cli/commands/broadcasts-show.ts': {
        'rows without an answer are left out': [
          'const records = found.slice(0, limit);',
          'const records = found.slice(0, limit).filter(({ status }) => status !== undefined);',
        ],
        'those of all subscriptions are shown': ['subscriptionId: flags.subscription,', ''],
      },
    },
  },
  {
    claim: 'The status line of a broadcast has rate, time left, and the outcomes of each push service',
    test: {
      file: 'test/delivery/format-broadcast.test.ts',
      title: 'the progress has share, rate, time left, and the outcomes of each push service',
    },
    changes: {
      'src/cli/send/format-progress.ts': {
        'the time left is left out': ['[`${formatDuration(etaSeconds)} left`]', '[]'],
        'one push service is named': [
          'broadcast.origins.map(formatOrigin)',
          'broadcast.origins.slice(0, 1).map(formatOrigin)',
        ],
      },
    },
  },
  {
    claim: 'Rate and time left of a broadcast are those of the last seconds',
    test: {
      file: 'test/cli/show-progress.test.ts',
      title: 'rate and time left are those of the last seconds',
    },
    changes: {
      'src/delivery/broadcast/progress.ts': {
        'they are those since the start': ['atMs - averageOverMs) history.shift()', '0) history.shift()'],
        'there is time left where nothing moves': ['ratePerSecond > 0 && pending > 0 &&', 'pending > 0 &&'],
      },
    },
  },
  {
    claim: 'No time left is shown from the first moments of a large broadcast',
    test: {
      file: 'test/cli/show-progress.test.ts',
      title: 'there is no time left from the first moments',
    },
    changes: {
      'src/delivery/broadcast/progress.ts': {
        'any rate tells it': ['pending > 0 && isTelling &&', 'pending > 0 &&'],
        'a slow one never does': ['atMs - first.atMs >= estimatedAfterMs || ', ''],
        'one of much never does': [' || moved * estimatedShare >= pending', ''],
      },
    },
  },
  {
    claim:
      'On a terminal, `send` shows its progress in a line that changes; elsewhere it prints one from time to time',
    test: {
      file: 'test/cli/show-progress.test.ts',
      title: 'on a terminal, the status line is always the newest',
    },
    changes: {
      'src/cli/send/show-progress.ts': {
        'it prints lines on a terminal too': [
          'if (!json && output.isTerminal)',
          'if (json && output.isTerminal)',
        ],
      },
    },
  },
  {
    claim:
      'The summary of a broadcast has its alarms, with the push service’s reason and how many messages it was',
    test: {
      file: 'test/cli/broadcasts.test.ts',
      title: 'messages that are not accepted make the exit code 1',
    },
    changes: {
      'src/cli/send/broadcast-summary.ts': {
        'alarms are left out': ['...alarms.map((alarm)', '...alarms.slice(0, 0).map((alarm)'],
      },
    },
  },
  {
    claim: '`broadcasts show` has the options of a broadcast, and how many get which text',
    test: {
      file: 'test/cli/broadcasts.test.ts',
      title: 'list, show and cancel tell what there is',
    },
    changes: {
      'src/cli/commands/broadcasts-show.ts': {
        'the options are left out': ['${formatDeliveryFlags(broadcast)}', '${void formatDeliveryFlags}'],
        'the texts are left out': ['...textsLine(broadcast),', '...textsLine(broadcast).slice(1),'],
      },
      'src/cli/send/send-broadcast.ts': {
        '`--priority` means nothing': [
          'createdBy: thisCommandLine(),',
          'createdBy: thisCommandLine(), priority: undefined,',
        ],
      },
    },
  },
  {
    claim: '`--dry-run` prints each text with its size, and how many get which',
    test: {
      file: 'test/cli/send.test.ts',
      title: '--dry-run prints the size of the audience and the payload',
    },
    changes: {
      'src/cli/send/dry-run.ts': {
        'the size of a text is left out': [
          'In ${language}, ${formatCount(text.length)} bytes:',
          'In ${language}:',
        ],
        'nothing is said of readers': [
          'for (const line of readerLines(readers)) await output.line(line);',
          'void readerLines;',
        ],
      },
    },
  },
  {
    claim: 'The command says why a person got nothing for each of their devices, also those that have ended',
    test: {
      file: 'test/cli/broadcasts.test.ts',
      title: 'the summary adds up to the audience; show says what came of it to a person’s devices',
    },
    changes: {
      'src/cli/commands/subscriptions-show.ts': {
        'devices that have ended are left out': ['[...stored, ...ended].map(', '[...stored].map('],
        'the explanation is left out': ['${row.state}: ${explain(row)}`', '${row.state}`'],
      },
    },
  },
  {
    claim: '`send --file -` reads the list from standard input',
    test: { file: 'test/cli/broadcasts.test.ts', title: '--ids and --file reach these and nobody else' },
    changes: {
      'src/cli/send/send-broadcast.ts': {
        'it is the name of a file': ['readInput(file, context)', 'readInput(`./${file}`, context)'],
      },
    },
  },
  {
    claim: 'With `--json`, `send` prints an event with the progress each second',
    test: {
      file: 'test/cli/show-progress.test.ts',
      title: 'with --json, the progress is an event each second',
    },
    changes: {
      'src/cli/send/show-progress.ts': {
        'it has another name': ["event('progress', progressToJson", "event('state', progressToJson"],
        'it comes less often': ['const jsonEveryMs = 1000;', 'const jsonEveryMs = 2000;'],
      },
      'src/views/broadcast.ts': {
        'it has no rate': ['ratePerSecond: Math.round(ratePerSecond),', ''],
        'it does not say how many are settled': ['  settled,\n  ratePerSecond', '  ratePerSecond'],
      },
    },
  },
  {
    claim: 'The exit code is 1 where a message to a live subscription was not accepted, for whatever reason',
    test: { file: 'test/delivery/format-broadcast.test.ts', title: 'a command has failed where a message' },
    changes: {
      'src/cli/send/assert-delivered.ts': {
        'messages that expired were accepted': ['counts.rejected + counts.expired +', 'counts.rejected +'],
        'messages that were given up were accepted': [' + counts.exhausted + ', ' + '],
      },
    },
  },
  {
    claim: 'A schedule has no list as its audience, no key of its own, and nothing to leave to others',
    test: {
      file: 'test/cli/schedules.test.ts',
      title: 'times that are none, and flags that do not go together',
    },
    changes: {
      'src/cli/commands/send.ts': {
        'a file is taken for everybody': ["['ids', 'file', 'at',", "['ids', 'at',"],
        'the key is ignored': ["'at', 'detach', 'idempotencyKey'],", "'at', 'detach'],"],
        'a schedule is detached': ["'at', 'detach', 'idempotencyKey'],", "'at', 'idempotencyKey'],"],
      },
    },
  },
  {
    claim: 'A worker logs the times of schedules that were missed',
    test: { file: 'test/cli/schedules.test.ts', title: 'a worker that is running makes the broadcast' },
    changes: {
      'src/cli/commands/worker.ts': {
        'it keeps them to itself': ['        onWarning,', '        onWarning: () => {},'],
      },
    },
  },
  {
    claim:
      'The command sends through the proxy of `https_proxy` or `all_proxy`, except to what `no_proxy` names',
    test: { file: 'test/cli/send.test.ts', title: 'messages go through the proxy of the environment' },
    changes: {
      'src/cli/send/open-sender.ts': {
        'no proxy is used': ['    ...proxyFromEnvironment(environment),', ''],
        'all go through the proxy': [
          '...proxyFromEnvironment(environment),',
          '...proxyFromEnvironment(environment), noProxy: [],',
        ],
      },
      'src/transport/proxy.ts': {
        '`all_proxy` is not read': ["find('https_proxy', 'all_proxy')", "find('https_proxy')"],
      },
    },
  },
  {
    claim: 'What goes worse than it could is a warning of `send` on standard error',
    test: { file: 'test/cli/send.test.ts', title: 'messages go through the proxy of the environment' },
    changes: {
      'src/cli/send/open-sender.ts': {
        'nothing is said': ['onWarning = (warning) => output.diagnostic(', 'onWarning = (warning) => void ('],
      },
    },
  },
  {
    claim: '`--ttl`, `--urgency` and `--topic` are of a message to one subscription too',
    test: { file: 'test/cli/send.test.ts', title: 'TTL 0 to a user agent that is away' },
    changes: {
      'src/cli/commands/send.ts': {
        'they are of broadcasts': [
          'sender.send(row, message, readDeliveryFlags(flags))',
          'sender.send(row, message)',
        ],
      },
    },
  },
  {
    claim: 'The command trusts the authorities that `--ca` adds',
    test: { file: 'test/cli/send.test.ts', title: 'a push service is trusted whose authority --ca adds' },
    changes: {
      'src/cli/send/open-sender.ts': {
        'they are read and not trusted': [
          'ca: await readCertificates(ca),',
          'ca: (await readCertificates(ca)).slice(9),',
        ],
      },
    },
  },
  {
    claim:
      '`subscriptions show` says whose a subscription is, its tags, and when it was registered and renewed',
    test: {
      file: 'test/cli/broadcasts.test.ts',
      title: 'the summary adds up to the audience; show says what came of it',
    },
    changes: {
      'src/cli/commands/subscriptions-show.ts': {
        'tags are left out': ["tags.length === 0 ? 'no tags'", "tags.length > 0 ? 'no tags'"],
        'the times are exchanged': [
          'registered ${isoTime(createdAtMs)}, renewed ${isoTime(updatedAtMs)}',
          'registered ${isoTime(updatedAtMs)}, renewed ${isoTime(createdAtMs)}',
        ],
      },
    },
  },
  {
    claim: 'The title of a text alone is the host of the public URL, with its port',
    test: { file: 'test/cli/send.test.ts', title: 'a text alone is a message' },
    changes: {
      'src/cli/configuration/sender-name.ts': {
        'the port is left out': ['parsePublicUrl(publicUrl).host;', 'parsePublicUrl(publicUrl).hostname;'],
      },
    },
  },
  {
    claim: 'The data directory keeps the contact that `serve` is given, in the place of a former one',
    test: { file: 'test/cli/send.test.ts', title: 'a text alone is a message' },
    changes: {
      'src/cli/commands/serve.ts': {
        'the former one stays': ['{ replace: true }', '{ replace: false }'],
      },
    },
  },
  {
    claim: '`--timezone` goes with `--quiet-hours` too',
    test: { file: 'test/cli/send.test.ts', title: 'local times are those of this machine' },
    changes: {
      'src/cli/commands/send.ts': {
        'it goes with local times alone': ['flags.localTime, flags.quietHours]', 'flags.localTime]'],
      },
    },
  },
  {
    claim: '`send --at` sends at once where the time is over by now',
    test: { file: 'test/cli/send.test.ts', title: 'title or text may be empty' },
    changes: {
      'src/cli/send/send-broadcast.ts': {
        'it is left to a worker': [
          'flags.at !== undefined && flags.at.getTime() > data.store.now()',
          'flags.at !== undefined',
        ],
      },
    },
  },
  {
    claim: '`show --attempts` prints the newest attempts, as many as `--limit` says',
    test: { file: 'test/cli/broadcasts.test.ts', title: 'list, show and cancel tell what there is' },
    changes: {
      'src/cli/commands/broadcasts-show.ts': {
        'it prints one more': ['const records = found.slice(0, limit);', 'const records = found;'],
        'the newest is left out': ['found.slice(0, limit)', 'found.slice(-limit)'],
      },
    },
  },
  {
    claim: 'With `--json`, the event `broadcast` says whether the broadcast is a new one',
    test: { file: 'test/cli/send.test.ts', title: '--all reaches everyone' },
    changes: {
      'src/cli/send/run-broadcast.ts': {
        'it does not say it': ['isNew: run.isNew, ...broadcastToJson', '...broadcastToJson'],
      },
    },
  },
  {
    claim: 'With `--json`, a broadcast that is left to others is an event too, which says whether it is new',
    test: { file: 'test/cli/send.test.ts', title: 'local times are those of this machine' },
    changes: {
      'src/cli/send/send-broadcast.ts': {
        'it does not say it': ["event: 'broadcast', isNew, ...", "event: 'broadcast', ..."],
      },
    },
  },
  {
    claim: 'With `--json`, a schedule is an event of its own',
    test: { file: 'test/cli/send.test.ts', title: 'local times are those of this machine' },
    changes: {
      'src/cli/send/send-broadcast.ts': {
        'it looks like a broadcast': ["event: 'schedule', ...", "event: 'broadcast', ..."],
      },
    },
  },
  {
    claim: 'Ctrl-C pauses a broadcast also where it comes before the first message',
    test: { file: 'test/delivery/preparing.test.ts', title: 'is paused where Ctrl-C comes before' },
    changes: {
      'src/cli/send/run-broadcast.ts': {
        'it is delivered': ['if (stop.aborted) pause();', ''],
        'one that is over is an error': [
          "error.code === 'ERR_BROADCAST_STATE'",
          "error.code === 'ERR_USAGE'",
        ],
      },
    },
  },
  {
    claim: '`--detach` with the key of a broadcast says that there is one already',
    test: { file: 'test/cli/broadcasts.test.ts', title: 'a repeated command with the same key' },
    changes: {
      'src/cli/send/send-broadcast.ts': {
        'it looks like a new one': ["is ${isNew ? '' : 'already '}${state}", 'is ${state}'],
      },
    },
  },
  {
    claim:
      'A dry run refuses what sending to a list refuses: a channel that there is not, or is off, and placeholders',
    test: { file: 'test/cli/send.test.ts', title: '--dry-run prints the size of the audience' },
    changes: {
      'src/delivery/broadcast/count-readers.ts': {
        'a channel that is off reaches all': ['  startOfList(split);\n', ''],
        'channels are not looked for': [
          'await findChannel(channel, store)',
          'void findChannel(channel, store) as undefined',
        ],
        'placeholders need no default': ['  await checkPlaceholders(encoded, user, store);\n', ''],
      },
    },
  },
  {
    claim: 'A topic is any text of at most 2,048 characters without control characters',
    test: {
      file: 'test/delivery/broadcast.test.ts',
      title: 'refuses a topic that not every database stores, or that is longer than any URL',
    },
    changes: {
      'src/store/delivery-options.ts': {
        'it may be of any length': ['if (text.length > maxLabelCharacters)', 'if (text.length > Infinity)'],
        'it may have any character': ['if (!isPlainText(text))', 'if (!isPlainText(""))'],
      },
    },
  },
  {
    claim: '`--urgency` and `--topic` are of every attempt of a broadcast',
    test: {
      file: 'test/delivery/faults-statuses.test.ts',
      title: 'a repetition tells the push service what',
    },
    changes: {
      'src/delivery/worker/assignment.ts': {
        'repetitions have none': ['{ ...this.#options, ttlSeconds:', '{ ttlSeconds:'],
        'there is no urgency': [
          'this.#options = { ttlSeconds, urgency, topic };',
          'this.#options = { ttlSeconds, topic }; void urgency;',
        ],
        'there is no topic': [
          'this.#options = { ttlSeconds, urgency, topic };',
          'this.#options = { ttlSeconds, urgency }; void topic;',
        ],
      },
    },
  },
  {
    claim: '`schedules resume` goes on with the next time to come, whatever has come during the pause',
    test: { file: 'test/cli/schedules.test.ts', title: 'a schedule is stored, listed and removed' },
    changes: {
      'src/cli/commands/schedules.ts': {
        'it goes on with the time of before': [
          'const schedule = await resumeSchedule(store, id);',
          'const schedule = await store.schedules.resume(id, (await store.schedules.get(id)).nextAtMs);',
        ],
      },
    },
  },
  {
    claim: 'The first `send` keeps the contact that it is given, also one to a single subscription',
    test: { file: 'test/cli/send.test.ts', title: 'a subject with its scheme in capitals' },
    changes: {
      'src/cli/commands/send.ts': {
        'only one to an audience does': [
          'await storeSettings(configuration',
          'if (!isForOne(flags)) await storeSettings(configuration',
        ],
      },
    },
  },
  {
    claim: 'An id that is given twice counts once in a dry run',
    test: {
      file: 'test/delivery/reader-options.test.ts',
      title: 'is counted for the oldest subscriptions alone',
    },
    changes: {
      'src/delivery/broadcast/count-readers.ts': { 'it counts twice': ['      seen.add(id);\n', ''] },
    },
  },
  {
    claim: 'A broadcast whose output nobody reads any longer, or is on a full disk, goes on to its end',
    test: { file: 'test/cli/processes.test.ts', title: 'a broadcast goes on to its end when' },
    changes: {
      'src/cli/run-process.ts': { 'it is paused': ['closed.abort(fault);', 'stop.abort(fault);'] },
    },
  },
  {
    claim: 'The exit code is 2 for wrong usage and configuration, and 1 for all other errors',
    test: { file: 'test/cli/failure.test.ts', title: 'usage and configuration that are wrong' },
    changes: {
      'src/cli/output/failure.ts': {
        'a message that is not valid is wrong usage': [
          "new Set(['ERR_USAGE', 'ERR_CONFIGURATION'])",
          "new Set(['ERR_USAGE', 'ERR_CONFIGURATION', 'ERR_MESSAGE_INVALID'])",
        ],
        'the configuration is not': ["'ERR_USAGE', 'ERR_CONFIGURATION'", "'ERR_USAGE'"],
      },
    },
  },
  {
    claim: 'The exit code of a command whose output is on a full disk is 1',
    test: { file: 'test/cli/processes.test.ts', title: 'when its output is on a full disk' },
    changes: {
      'src/cli/run-process.ts': {
        'it is that of the work': ['process.exitCode ||= exitCode;', 'process.exitCode = exitCode;'],
      },
    },
  },
];
