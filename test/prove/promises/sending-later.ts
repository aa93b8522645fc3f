// Promises of docs/sending.md on what comes later: retries, probes, schedules, and what could not be stored or told at once.
import type { DocumentedPromise } from '../promise.ts';

const retryPolicy = 'test/delivery/retry-policy.test.ts';
const policy = 'src/delivery/worker/retry-policy.ts';

export const sendingLater: readonly DocumentedPromise[] = [
  {
    claim: 'An `onGone` that throws is called again by the same sender',
    test: { file: 'test/delivery/gone-hook.test.ts', title: 'is told again by the same sender' },
    changes: {
      'src/delivery/gone-hook.ts': {
        'what has failed once is never tried again': [
          'if (!isReporting) reporting',
          'if (!isReporting && !isFailing) reporting',
        ],
        'each failure is warned of': ['if (!isFailing) onWarning(', 'onWarning('],
      },
    },
  },
  {
    claim: 'Where `onGone` throws for one subscription, the others are told meanwhile',
    test: { file: 'test/delivery/gone-hook.test.ts', title: 'is told of the others where it throws' },
    changes: {
      'src/delivery/gone-hook.ts': {
        'the first that fails holds up the others': [
          'failure ??= { error };\n          continue;',
          'throw error;',
        ],
      },
    },
  },
  {
    claim: '`onWarning`, `onFigures`, `messageLog.write` and `onFault` may throw, and sending goes on',
    test: {
      file: 'test/delivery/throwing-callbacks.test.ts',
      title: 'a function that throws disturbs no sending:',
    },
    changes: {
      'src/delivery/sender-options.ts': {
        '`onWarning` ends it': [
          "guardCallback('onWarning', (warning) => onWarning?.(warning))",
          '(warning) => onWarning?.(warning)',
        ],
        '`onFigures` ends it': ["onFigures && guardCallback('onFigures', onFigures)", 'onFigures'],
        '`messageLog.write` ends it': [
          "guardCallback('messageLog.write', (records) => messageLog.write(records))",
          '(records) => messageLog.write(records)',
        ],
      },
      'src/delivery/broadcast/broadcaster.ts': {
        '`onFault` ends it': ["guardCallback('onFault', given)", 'given'],
      },
    },
  },
  {
    claim: 'A `log` of the service that throws loses records, not answers',
    test: {
      file: 'test/service/logging-mechanisms.test.ts',
      title: 'a log of the application that throws loses records, not answers:',
    },
    changes: {
      'src/service/options.ts': {
        'it is answered with 500': ['guardLog(given.log ?? createLog())', 'given.log ?? createLog()'],
      },
    },
  },
  {
    claim: 'What a callback that only reports throws is a warning of the process, once',
    test: { file: 'test/errors/guard-callback.test.ts', title: 'what a callback throws is a warning, once' },
    changes: {
      'src/errors/guard-callback.ts': {
        'each time': ['isReported = true;', 'isReported = false;'],
      },
    },
  },
  {
    claim: 'What a callback that only reports rejects with is a warning of the process',
    test: { file: 'test/errors/guard-callback.test.ts', title: 'so is what it rejects with' },
    changes: {
      'src/errors/guard-callback.ts': {
        'nobody listens': ['if (result instanceof Promise) result.catch(report);', 'void result;'],
      },
    },
  },
  {
    claim: '`onGone` is told when the push service has called the subscription gone',
    test: { file: 'test/store/retention-suite.ts', title: 'deletes subscriptions that ended 30 days ago' },
    changes: {
      'src/store/ended-subscriptions.ts': {
        'it is told another number': ['goneAtMs: gone_at_ms,', 'goneAtMs: id,'],
      },
    },
  },
  {
    claim: 'Subscriptions that have ended are kept for 30 days, also where others end after them',
    test: { file: 'test/store/retention-suite.ts', title: 'deletes subscriptions that ended 30 days ago' },
    changes: {
      'src/store/sqlite/migrations.ts': {
        'for ten days': [
          'marked_at_ms, old.user from gone_marks where subscription_id = old.id;\n    delete from ended_subscriptions\n      where gone_at_ms < (select max(gone_at_ms) from ended_subscriptions) - 2592000000;',
          'marked_at_ms, old.user from gone_marks where subscription_id = old.id;\n    delete from ended_subscriptions\n      where gone_at_ms < (select max(gone_at_ms) from ended_subscriptions) - 864000000;',
        ],
      },
      'src/store/postgres/migrations.ts': {
        'for ten days': ['- 2592000000; -- 30 days', '- 864000000;'],
      },
    },
  },
  {
    claim: 'Nothing of a broadcast with `--at` is sent before its time, also where it was paused and resumed',
    test: {
      file: 'test/store/broadcast-suite.ts',
      title: 'a broadcast that is scheduled is not touched before its time',
    },
    changes: {
      'src/store/sqlite/migrations.ts': {
        'it is sent once it is resumed': [
          "on broadcasts when new.state = 'running' begin\n    insert or replace into work (broadcast_id, is_high, slices_at_ms, retries_at_ms)\n      values (new.id, new.priority is 'high', new.start_at_ms, new.start_at_ms);\n  end;\n  create trigger broadcast_stopped",
          "on broadcasts when new.state = 'running' begin\n    insert or replace into work (broadcast_id, is_high, slices_at_ms, retries_at_ms)\n      values (new.id, new.priority is 'high', 0, 0);\n  end;\n  create trigger broadcast_stopped",
        ],
      },
      'src/store/postgres/migrations.ts': {
        'it is sent once it is resumed': [
          "is not distinct from 'high', new.start_at_ms, new.start_at_ms)",
          "is not distinct from 'high', 0, 0)",
        ],
      },
    },
  },
  {
    claim: 'The attempts to a subscription are the newest first, however many commits were made between them',
    test: {
      file: 'test/store/attempts-suite.ts',
      title: 'the attempts to a row are the newest first',
    },
    changes: {
      'src/store/attempt-reader.ts': {
        'only those of some commits are': ['.sort((one, other) => other - one);', ';'],
      },
    },
  },
  {
    claim:
      'Answers to single messages that could not be stored are stored later, though nothing more is sent',
    test: {
      file: 'test/delivery/answer-log.test.ts',
      title: 'a commit that failed while the store was away',
    },
    changes: {
      'src/delivery/single/answer-log.ts': {
        'they wait for the next message': [
          '      // also what has come meanwhile\n      this.#reportLater();\n',
          '',
        ],
      },
    },
  },
  {
    claim: 'An occurrence that nobody made at its time is sent up to an hour late, and no later',
    test: { file: 'test/delivery/schedules.test.ts', title: 'an occurrence that is later than an hour' },
    changes: {
      'src/delivery/schedule/run-schedules.ts': {
        'one of an hour ago is left out': ['nextAtMs >= earliestMs', 'nextAtMs > earliestMs'],
        'one of longer ago is sent': ['nextAtMs >= earliestMs', 'nextAtMs >= earliestMs - 1'],
      },
    },
  },
  {
    claim: 'A fixed time that clocks skip is sent at the end of the gap, also where that is midnight',
    test: { file: 'test/delivery/recurrence.test.ts', title: 'comes at midnight where that ends the gap' },
    changes: {
      'src/delivery/schedule/recurrence.ts': {
        'it is left out': ['if (/[*?/]/.test(minute + hour)) {', 'if (hour) {'],
        'what has a step comes then, too': ['/[*?/]/.test(minute', '/[*?]/.test(minute'],
      },
    },
  },
  {
    claim: 'A fixed time that clocks show twice is sent once, the first time',
    test: { file: 'test/delivery/recurrence.test.ts', title: 'a fixed time that there is twice' },
    changes: {
      'src/delivery/schedule/recurrence.ts': {
        'it is sent the second time': [
          'toInstant(wallMs, timezone);',
          'toInstant(wallMs, timezone, timeMs);',
        ],
        'it is due again in the second hour': ['if (atMs > timeMs) return atMs;', 'return atMs;'],
      },
    },
  },
  {
    claim: 'Of a day of the month and a day of the week in an expression of cron, either is enough',
    test: { file: 'test/delivery/recurrence.test.ts', title: 'of a day of the month and a day of the week' },
    changes: {
      'src/delivery/schedule/recurrence.ts': {
        'both are needed': ["mode: '5-part',", "mode: '5-part', domAndDow: true,"],
      },
    },
  },
  {
    claim: 'A broadcast with other options is another one under the same idempotency key',
    test: { file: 'test/delivery/reader-options.test.ts', title: 'with a key is the same one the next day' },
    changes: {
      'src/delivery/broadcast/create-broadcast.ts': {
        'it may have another priority': [
          'topic, ...others } = given;',
          'topic, priority: _, ...others } = given;',
        ],
        'it may have another time zone': [
          'topic, ...others } = given;',
          'topic, timeZone: _, ...others } = given;',
        ],
        'it may leave other readers out': [
          'topic, ...others } = given;',
          'topic, skipInactive: _, ifTimePassed: __, ...others } = given;',
        ],
      },
    },
  },
  {
    claim: 'Of several occurrences that were missed, only the newest is sent, also where it is that of now',
    test: { file: 'test/delivery/schedules.test.ts', title: 'an occurrence is made up to an hour late' },
    changes: {
      'src/delivery/schedule/run-schedules.ts': {
        'that of now is sent as well': ['if (nextMs > nowMs)', 'if (nextMs >= nowMs)'],
      },
    },
  },
  {
    claim: 'The times of a schedule are those of UTC where it names no time zone',
    test: { file: 'test/delivery/schedules.test.ts', title: 'what cannot be sent, has no time to come' },
    changes: {
      'src/delivery/schedule/create-schedule.ts': {
        'they are those of another zone': [
          "timezone = 'UTC', receipts",
          "timezone = 'Europe/Berlin', receipts",
        ],
      },
    },
  },
  {
    claim: 'While a push service refuses everything, it is sent probes at least every two minutes',
    test: {
      file: 'test/store/push-services-suite.ts',
      title: 'the pauses between probes grow after a while, up to two minutes',
    },
    changes: {
      'src/store/sqlite/push-services.ts': {
        'the pauses grow on': ['Math.min(maxProbePauseMs, probePauseMs', 'Math.max(0, probePauseMs'],
        'they never grow': ['probePauseMs * 2 **', 'probePauseMs * 1 **'],
      },
      'src/store/postgres/functions/push-services.sql': {
        'the pauses grow on': [':maxProbePauseMs, (due', '10 * :maxProbePauseMs, (due'],
        'they never grow': [':probePauseMs * 2 ^', ':probePauseMs * 1 ^'],
      },
    },
  },
  {
    claim: 'A row is refused five times over more than a minute before it is rejected',
    test: { file: retryPolicy, title: 'by default a row is refused for more than a minute' },
    changes: {
      [policy]: {
        'the waits between refusals do not grow': [
          'tries, tries.refusals ?? 1, ...when',
          'tries, 1, ...when',
        ],
      },
    },
  },
  {
    claim: 'While a push service is held, it is not asked for rows that wait to be tried again either',
    test: {
      file: 'test/delivery/refusals.all.test.ts',
      title: 'is not asked for what waits to be tried again',
    },
    changes: {
      'src/delivery/worker/worker.ts': {
        'what is tried again passes as a probe': [
          'gate.admit(assignment.areProbes, nowMs)',
          'gate.admit(isReturning, nowMs)',
        ],
      },
      'src/delivery/worker/workload.ts': {
        'a worker knows it only from its own answers': [
          'await destinations.loadKeys(lease.rows);',
          'destinations.setStates([]); await destinations.loadKeys(lease.rows);',
        ],
      },
    },
  },
  {
    claim:
      'A row that is refused five times while others are accepted is rejected, whatever else is answered between',
    test: {
      file: 'test/store/push-services-suite.ts',
      title: 'a row that is refused is tried again, and rejected',
    },
    changes: {
      'src/store/sqlite/commit-page.ts': {
        'another answer makes its refusals forgotten': ['coalesce(refused_by, :refusedBy)', ':refusedBy'],
        'only what is accepted after the last refusal counts': [
          'coalesce(refused_since_ms, :refusedSinceMs)',
          ':refusedSinceMs',
        ],
      },
      'src/store/postgres/functions/commit-page.sql': {
        'another answer makes its refusals forgotten': [
          'coalesce(r.refused_by, p.refused_by)',
          'p.refused_by',
        ],
        'only what is accepted after the last refusal counts': [
          'coalesce(r.refused_since_ms, p.refused_since_ms)',
          'p.refused_since_ms',
        ],
      },
    },
  },
  {
    claim: 'The waits of a row that is refused again and again double up to half an hour, and no further',
    test: { file: retryPolicy, title: 'with more attempts than by default no wait is longer' },
    changes: {
      [policy]: {
        'the waits grow on': [
          'policy.firstDelayMs, policy.maxDelayMs, tries, tries.refusals',
          'policy.firstDelayMs, Infinity, tries, tries.refusals',
        ],
      },
    },
  },
  {
    claim: 'A row that is deferred is not tried again past its TTL',
    test: { file: retryPolicy, title: 'a retry that would come at the end of the TTL or later is none' },
    changes: {
      [policy]: {
        'it is tried whenever its wait ends': [
          'return schedule(tries, Math.max(afterMs, backoffMs), ...when)',
          'return { ...tries, delayMs: Math.max(afterMs, backoffMs) }',
        ],
      },
    },
  },
  {
    claim: 'The retry policy has the defaults of docs/sending.md, and so have the time-outs',
    test: {
      file: 'test/documentation/figures.test.ts',
      title: 'pages name the times and limits of the code',
    },
    changes: {
      [policy]: {
        'a deferred row waits longer': ['firstDeferralMs: 1000', 'firstDeferralMs: 2000'],
        'it may wait longer': ['maxDeferralMs: 5 * 60', 'maxDeferralMs: 10 * 60'],
        'it is deferred more often': ['maxDeferrals: 600', 'maxDeferrals: 1600'],
      },
      'src/transport/timeouts.ts': {
        'connecting may take longer': ['connectTimeoutMs: 10_000', 'connectTimeoutMs: 20_000'],
        'an answer may take longer': ['responseTimeoutMs: 30_000', 'responseTimeoutMs: 40_000'],
      },
    },
  },
  {
    claim:
      'A push service is reported as one that no attempt reaches after failed tries over fifteen seconds, until it answers',
    test: { file: 'test/transport/admission.test.ts', title: 'a push service is unreachable after tries' },
    changes: {
      'src/transport/admission.ts': {
        'one failed try is enough': [
          'lastMs - firstMs < unreachableAfterMs',
          'nowMs - firstMs < unreachableAfterMs',
        ],
        'it takes longer': [
          'lastMs - firstMs < unreachableAfterMs',
          'lastMs - firstMs <= unreachableAfterMs',
        ],
        'an answer does not end it': [
          'this.#failures = this.#connectFault = undefined;',
          'this.#connectFault = undefined;',
        ],
      },
    },
  },
  {
    claim:
      'A sender that works goes on over faults of slices, audiences and schedules, and warns of occurrences that were left out',
    test: {
      file: 'test/delivery/broadcast.test.ts',
      title: 'that was only created is delivered by a sender',
    },
    changes: {
      'src/delivery/broadcast/broadcaster.ts': {
        'the fault ends it': [
          'restartAfterFaults(() => runSchedules({ store, policy, onWarning }, stopped), { stopped, onFault })',
          'runSchedules({ store, policy, onWarning }, stopped)',
        ],
        'a fault of leasing slices ends it': [
          'restartAfterFaults(() => runWorkers({}, stopped), { stopped, onFault })',
          'runWorkers({}, stopped)',
        ],
        'a fault of preparing audiences ends it': [
          'restartAfterFaults(() => runPreparations(store, stopped), { stopped, onFault })',
          'runPreparations(store, stopped)',
        ],
        'schedules are not looked at again': [
          'restartAfterFaults(() => runSchedules({ store, policy, onWarning }, stopped), { stopped, onFault })',
          'runSchedules({ store, policy, onWarning }, stopped).catch(onFault)',
        ],
        'it warns of nothing': [
          'runSchedules({ store, policy, onWarning }',
          'runSchedules({ store, policy }',
        ],
      },
    },
  },
  {
    claim: 'A dry run stores nothing, not even the contact that it is given',
    test: { file: 'test/cli/send.test.ts', title: 'a text alone is a message' },
    changes: {
      'src/cli/commands/send.ts': {
        'it is kept': [
          'if (flags.dryRun) return dryRun(',
          'if (flags.dryRun) await storeSettings(configuration, { replace: false });\n        if (flags.dryRun) return dryRun(',
        ],
      },
    },
  },
  {
    claim: 'There is one thread per core where `threads` is not given',
    test: { file: 'test/delivery/thread-heap.test.ts', title: 'threads are as many as are worth it' },
    changes: {
      'src/delivery/worker/thread-count.ts': {
        'there is another number': ['availableParallelism() : 0', '7 : 0'],
      },
    },
  },
  {
    claim: 'A sender of single messages learns with the answers it stores what others were asked to wait',
    test: { file: 'test/delivery/shared-waits.test.ts', title: 'is asked nothing by single messages either' },
    changes: {
      'src/delivery/single/answer-log.ts': {
        'it learns nothing': [
          'this.#destinations.setStates(await this.#ledger.recordAnswers(commit));',
          'await this.#ledger.recordAnswers(commit);',
        ],
      },
    },
  },
  {
    claim: 'A broadcast on the command line tells each alarm once, with `--json` as an event',
    test: { file: 'test/cli/show-progress.test.ts', title: 'with --json, an alarm is an event' },
    changes: {
      'src/cli/send/show-progress.ts': {
        'each is told again and again': ['shownAlarms.add(alarmKey(alarm));', ''],
        'with --json it says nothing': ["event('alarm', alarmToJson(alarm))", "event('alarm', {})"],
        'with --json there is none': [
          "if (json) await output.line(event('alarm', alarmToJson(alarm)));",
          'if (json) continue;',
        ],
      },
    },
  },
  {
    claim:
      '`send()` takes as long as connecting and an answer may take together, the time in the queue included',
    test: {
      file: 'test/delivery/sender.test.ts',
      title: 'ends one that is queued, which is never sent then',
    },
    changes: {
      'src/delivery/single/single-messages.ts': {
        'connecting may take no time': ['(options.connectTimeoutMs ?? connectTimeoutMs) +', ''],
        'answers may take no time': ['+ (options.responseTimeoutMs ?? responseTimeoutMs)', ''],
      },
    },
  },
  {
    claim:
      'After `sender.close()` the broadcast that it delivered is as it is then, and `finished` resolves with it',
    test: { file: 'test/delivery/broadcast.test.ts', title: 'whose sender is closed while a push service' },
    changes: {
      'src/delivery/broadcast/broadcaster.ts': {
        'it goes on': ['close: () => jobs.stopAll(),', 'close: async () => {},'],
      },
    },
  },
  {
    claim: 'An idempotency key stands for each of a list of ids or subscriptions',
    test: {
      file: 'test/delivery/broadcast.test.ts',
      title: 'with a list is the same only for the same list',
    },
    changes: {
      'src/delivery/broadcast/audience.ts': {
        'any list of subscriptions is the same': ['    updateHash(hash, member);', ''],
        'one with other keys is the same': ['.update(member.p256dh).update(member.auth);', ';'],
        'one with another secret is the same': ['.update(member.auth);', ';'],
        'any list of ids is the same': ['updateHash(hash, checkId(id));', 'checkId(id);'],
      },
    },
  },
  {
    claim: 'A message is tried again where TLS with its push service fails',
    test: {
      file: 'test/delivery/sender.test.ts',
      title: 'a push service whose certificate is not trusted is a retry',
    },
    changes: {
      'src/protocol/outcome.ts': { 'it is a fault of its own': ["    case 'ERR_TLS':", ''] },
    },
  },
  {
    claim: 'An alarm tells once of a row that its push service refuses, however often it is tried',
    test: { file: 'test/delivery/record.test.ts', title: 'has one alarm where our token is refused' },
    changes: {
      'src/delivery/worker/record.ts': {
        'its end is told too': ['(row.tries.refusals ?? 0) > 0;', '(row.tries.refusals ?? 0) > 9;'],
        'each refusal is told': ['const alarm = refusals === 0 ?', 'const alarm = refusals >= 0 ?'],
      },
    },
  },
  {
    claim: 'The circuit breaker does not open for answers that concern one message',
    test: {
      file: 'test/transport/origin.test.ts',
      title: 'what a push service answers to a message, many times',
    },
    changes: {
      'src/transport/admission.ts': {
        '408, 421 and 425 are failures of it': [" || outcome.reason === 'not-handled'", ''],
      },
    },
  },
  {
    claim: 'What a push service hands back is not sent while it has asked to wait',
    test: {
      file: 'test/transport/origin.test.ts',
      title: 'what is handed back while a push service has asked to wait',
    },
    changes: {
      'src/transport/origin.ts': {
        'it is sent at once': ['if (deferral === undefined) this', "if (deferral?.reason !== '') this"],
      },
    },
  },
  {
    claim: 'After a refusal over HTTP/2 nothing is sent for 20 ms, and twice as long each time',
    test: {
      file: 'test/transport/hostile-http2.test.ts',
      title: 'what is refused goes out again after a pause',
    },
    changes: {
      'src/transport/origin.ts': {
        'it is always as long': ['2 ** (exchange.timesRefused - 1)', '1'],
        'other messages are sent meanwhile': [
          'this.#refusalPause === undefined ? this.#queued : 0',
          'this.#refusalPause === undefined ? this.#queued : this.#queue.length',
        ],
      },
    },
  },
  {
    claim: 'GOAWAY before a connection has processed any request counts as a refusal',
    test: {
      file: 'test/transport/hostile-http2.test.ts',
      title: 'a push service whose GOAWAY hands back the first',
    },
    changes: {
      'src/transport/http2/session.ts': {
        'it does not': ['const refusal = lastStreamId === 0 ?', 'const refusal = lastStreamId < 0 ?'],
      },
    },
  },
  {
    claim: 'What any other GOAWAY hands back goes out on another connection, however often',
    test: {
      file: 'test/transport/hostile-http2.test.ts',
      title: 'GOAWAY on every connection after its first request',
    },
    changes: {
      'src/transport/http2/session.ts': {
        'it is refused': ['const refusal = lastStreamId === 0 ?', 'const refusal = lastStreamId >= 0 ?'],
      },
      'src/transport/origin.ts': {
        'it counts as an attempt': [
          'else if (refusal === undefined) this.#queueAgain(exchange);',
          'else if (refusal === undefined && ++exchange.timesRefused < 10) this.#queueAgain(exchange);',
        ],
      },
    },
  },
  {
    claim: 'Refusals over HTTP/2 after ten pauses in a row open the circuit breaker',
    test: {
      file: 'test/transport/hostile-http2.test.ts',
      title: 'a push service that refuses requests after ten pauses',
    },
    changes: {
      'src/transport/origin.ts': {
        'they do not': [
          'if (this.#admission.recordFailure(exchange, error)) this.#deferQueued();\n  }',
          "if (error.message === '') this.#deferQueued();\n  }",
        ],
      },
    },
  },
  {
    claim: 'What a push service refuses at once counts as one refusal',
    test: {
      file: 'test/transport/hostile-http2.test.ts',
      title: 'more than a push service takes before its SETTINGS',
    },
    changes: {
      'src/transport/origin.ts': {
        'each message counts': ['if (this.#refusalPause !== undefined) return;', ''],
      },
    },
  },
  {
    claim: 'Refusals over HTTP/2 are no breach of it, however many come',
    test: { file: 'test/transport/hostile-http2.test.ts', title: 'any number of refusals breaks no rule' },
    changes: {
      'src/transport/http2/session.ts': {
        'they count as frames that end no request': [
          'this.#frames.progressed();',
          'if (stream.answer !== undefined) this.#frames.progressed();',
        ],
      },
    },
  },
  {
    claim: 'A push service that is to be waited for is forgotten last, and there are at most 1,000',
    test: {
      file: 'test/transport/origin.test.ts',
      title: 'a push service that has asked to wait is not forgotten',
    },
    changes: {
      'src/transport/create-transport.ts': {
        'it is forgotten as others are': ['if (waitMs > 0 && origins.size', 'if (waitMs < 0 && origins.size'],
        'any number is kept': ['origins.size <= maxOriginsKept', 'origins.size > 0'],
        'the one whose wait ends last is forgotten': ['a.waitMs - b.waitMs', 'b.waitMs - a.waitMs'],
      },
    },
  },
  {
    claim: 'Only the one message that is tried decides whether a push service is sent to again',
    test: { file: 'test/transport/breaker.test.ts', title: 'only the probe decides what comes of HALF_OPEN' },
    changes: {
      'src/transport/breaker.ts': {
        'any answer does': [
          "return this.#state === 'HALF_OPEN' && request === this.#probe;",
          "return this.#state === 'HALF_OPEN' && request !== undefined;",
        ],
        'another one that was not sent takes its place away': [
          'if (request === this.#probe) this',
          'if (request !== undefined) this',
        ],
      },
    },
  },
  {
    claim: 'The audience of a schedule is by user, tags or both too, and is evaluated at each occurrence',
    test: { file: 'test/delivery/schedules.test.ts', title: 'an audience by ' },
    changes: {
      'src/delivery/schedule/run-schedules.ts': {
        'everybody gets it': ["schedule.audience as 'all' | MatchingAudience", "'all'"],
      },
      'src/delivery/schedule/create-schedule.ts': {
        'it is stored as everybody': ['? audience : checkExpression(audience)', "? audience : 'all'"],
        'one by user and tags loses the tags': [
          '? audience : checkExpression(audience)',
          "? audience : checkExpression('user' in audience ? { user: audience.user } : audience)",
        ],
      },
    },
  },
  {
    claim: 'Without the accelerator, a broadcast that is large says so once, from whichever thread',
    test: { file: 'test/delivery/broadcast.test.ts', title: 'says once, of a large broadcast only' },
    changes: {
      'src/delivery/worker/worker-pool.ts': {
        'what threads warn of is lost': ['else listener.onWarning(message.text);', 'else void message.text;'],
      },
      'src/delivery/worker/run-workers.ts': {
        'each says it': ['if (reported.has(warning)) return;', ''],
      },
      'src/delivery/worker/create-worker.ts': {
        'a larger one says so': ['recipients >= workerSettings', 'recipients > workerSettings'],
      },
    },
  },
  {
    claim: '`finished` rejects with the error of a thread that delivers',
    test: { file: 'test/delivery/broadcast.test.ts', title: 'whose threads fail rejects with the error' },
    changes: {
      'src/delivery/worker/worker-pool.ts': {
        'the thread has just ended': [
          'if (fault === undefined && code === 0) return;',
          'if (code === 0) return;',
        ],
        'its code is lost': ["isErrorCode(name) ? name : 'ERR_INTERNAL'", "'ERR_INTERNAL'"],
      },
    },
  },
  {
    claim: 'A sender that is closed sends what it was given before, also where its key is still looked up',
    test: { file: 'test/delivery/sender.test.ts', title: 'is written to with that key, told by the caller' },
    changes: {
      'src/delivery/single/single-messages.ts': {
        'that is not waited for': ['while (lookups.size > 0) await Promise.allSettled(lookups);', ''],
      },
    },
  },
  {
    claim: 'What the caller says of a reader stands before what the store knows',
    test: { file: 'test/cli/send.test.ts', title: 'a message with --texts and --placeholders' },
    changes: {
      'src/delivery/single/reader.ts': {
        'the stored language holds': [
          'given.language ?? known?.language',
          'known?.language ?? given.language',
        ],
        'the stored data hold': ['{ ...known?.data, ...given.data }', '{ ...given.data, ...known?.data }'],
      },
    },
  },
  {
    claim: '`work` needs nobody who is told of faults',
    test: { file: 'test/delivery/broadcast.test.ts', title: 'is worked on over faults that nobody' },
    changes: {
      'src/delivery/broadcast/broadcaster.ts': {
        'a fault ends it where there is none': [
          "guardCallback('onFault', given)",
          '(fault: unknown) => { throw fault; }',
        ],
      },
    },
  },
  {
    claim: 'An audience is of one kind',
    test: { file: 'test/delivery/broadcast.test.ts', title: 'whose list holds something else' },
    changes: {
      'src/delivery/broadcast/audience.ts': {
        'one of two kinds is the first of them': [
          'if (kinds.filter(Boolean).length === 1) return;',
          'if (kinds.filter(Boolean).length >= 1) return;',
        ],
        'one of no kind is nobody': [
          'if (kinds.filter(Boolean).length === 1) return;',
          'if (kinds.filter(Boolean).length <= 1) return;',
        ],
      },
    },
  },
  {
    claim: 'The ids of an audience may be a stream',
    test: { file: 'test/delivery/broadcast.test.ts', title: 'to a stream of ids reaches these' },
    changes: {
      'src/delivery/broadcast/audience.ts': {
        'they must be there already': [
          'for await (const id of ids)',
          'for (const id of [...(ids as number[])])',
        ],
      },
    },
  },
  {
    claim: 'A local time without a date is the next one from the start on, also where that is to come',
    test: {
      file: 'test/delivery/reader-options.test.ts',
      title: 'to given subscriptions is for the time of its own',
    },
    changes: {
      'src/delivery/broadcast/create-broadcast.ts': {
        'it is the next one from now on': ['occurrence?.atMs ?? startAtMs)', 'occurrence?.atMs ?? now())'],
      },
      'src/delivery/broadcast/count-readers.ts': {
        'a dry run counts from now on': [
          'resolveTimes(options, startAtMs)',
          'resolveTimes(options, store.now())',
        ],
      },
    },
  },
  {
    claim: 'Rows that are all refused wait for an hour before they are rejected',
    test: {
      file: 'test/documentation/figures.test.ts',
      title: 'pages name the times and limits of the code',
    },
    changes: {
      'src/store/push-services.ts': { 'they wait longer': ['patienceMs: 60 * 60', 'patienceMs: 120 * 60'] },
    },
  },
];
