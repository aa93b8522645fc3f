// Promises of docs/sending.md.
import type { DocumentedPromise } from '../promise.ts';

const heldDeletions = 'test/store/held-deletions-suite.ts';
const pushServices = 'test/store/push-services-suite.ts';
const perPerson = 'test/store/frequency-cap-suite.ts';

const retryPolicy = 'test/delivery/retry-policy.test.ts';
const policy = 'src/delivery/worker/retry-policy.ts';

export const sending: readonly DocumentedPromise[] = [
  {
    claim: 'What is on its way when a broadcast is cancelled counts as its push service answers',
    test: { file: 'test/store/broadcast-suite.ts', title: 'a cancelled broadcast keeps what was done' },
    changes: {
      'src/store/sqlite/commit-page.ts': {
        'an answer that is still to come counts as cancelled': [
          "if (isFresh && isCancelled && row.result !== 'detached') return;",
          'if (isFresh && isCancelled) return;',
        ],
      },
      'src/store/postgres/functions/commit-page.sql': {
        'an answer that is still to come counts as cancelled': [
          '(@.isDetached == true)',
          '(@.isDetached == 7)',
        ],
      },
    },
  },
  {
    claim: '`NODE_OPTIONS` with heap sizes do not change the limits of a thread that delivers',
    test: { file: 'test/delivery/thread-heap.test.ts', title: 'a thread that delivers has its own limits' },
    changes: {
      'src/delivery/worker/thread-heap.ts': {
        'the flags stay as they are': [
          'if (starting === 0) for (const flag of sizeFlags) setFlagsFromString(`--${flag}=0`)',
          '',
        ],
      },
    },
  },
  {
    claim: 'A rate limit does not limit single messages to a push service that is known or listed',
    test: { file: 'test/delivery/rate-limits.test.ts', title: 'a rate limits single messages' },
    changes: {
      'src/delivery/limits/single-message-rates.ts': {
        'it does': [
          'if (!isUnlisted) return undefined;',
          'if (!isUnlisted && !this.#rates.has(origin)) return undefined;',
        ],
      },
    },
  },
  {
    claim: 'A process has no thread for rows that are too few for one, and no more threads than it may',
    test: { file: 'test/delivery/thread-heap.test.ts', title: 'threads are as many as are worth it' },
    changes: {
      'src/delivery/worker/thread-count.ts': {
        'few rows get a thread': ['Math.floor(rows / rowsForThread)', 'Math.ceil(rows / rowsForThread)'],
        'they are as many as may be': [
          'Math.min(maxThreads, Math.floor(rows / rowsForThread))',
          'maxThreads',
        ],
      },
    },
  },
  {
    claim:
      'Dry runs, threads, probes and the warning of a missing accelerator have the figures of docs/sending.md',
    test: {
      file: 'test/documentation/figures.test.ts',
      title: 'pages name the times and limits of the code',
    },
    changes: {
      'src/store/push-services.ts': {
        'probes are further apart': ['maxProbePauseMs: 2 * 60', 'maxProbePauseMs: 20 * 60'],
        'more rows are probes': ['  probeRows: 4', '  probeRows: 5'],
      },
      'src/cli/send/dry-run.ts': {
        'a dry run looks at fewer subscriptions': ['maxReaders = 100_000', 'maxReaders = 10_000'],
      },
      'src/delivery/worker/thread-count.ts': {
        'a thread is worth it earlier': ['rowsForThread = 2000', 'rowsForThread = 1000'],
      },
      'src/delivery/worker/worker-settings.ts': {
        'the warning comes earlier': ['warnFromAudience: 10_000', 'warnFromAudience: 1_000'],
      },
    },
  },
  {
    claim:
      'The package has the accelerator for Linux on x64 and arm64, for glibc and for musl; a machine takes that of its C library',
    test: { file: 'test/check-release.test.ts', title: 'the platform of an accelerator' },
    changes: {
      'src/accelerator/addon-file.ts': {
        'musl and glibc are exchanged': ["usesMusl() ? 'musl' : 'glibc'", "usesMusl() ? 'glibc' : 'musl'"],
      },
    },
  },
  {
    claim:
      'Of four slices that a worker leases, three are of broadcasts with high priority, and one is of the others',
    test: {
      file: 'test/store/broadcast-suite.ts',
      title: 'of four leases, three are of broadcasts with high priority',
    },
    changes: {
      'src/store/sqlite/leases.ts': {
        'the others never come first': ['(slicesLeased + 1) % leasesPerTurn > 0', 'slicesLeased >= 0'],
        'priority means nothing': [
          'for (const isHigh of [Number(isHighFirst), Number(!isHighFirst)])',
          'for (const isHigh of [0, Number(isHighFirst)])',
        ],
      },
      'src/store/postgres/leases.ts': {
        'the others never come first': ['(slicesLeased + 1) % leasesPerTurn > 0', 'true'],
      },
      'src/store/sqlite/migrations.ts': {
        'a broadcast that is resumed has no priority': [
          "on broadcasts when new.state = 'running' begin\n    insert or replace into work (broadcast_id, is_high, slices_at_ms, retries_at_ms)\n      values (new.id, new.priority is 'high', new.start_at_ms, new.start_at_ms);\n  end;\n  create trigger broadcast_stopped",
          "on broadcasts when new.state = 'running' begin\n    insert or replace into work (broadcast_id, is_high, slices_at_ms, retries_at_ms)\n      values (new.id, 0, new.start_at_ms, new.start_at_ms);\n  end;\n  create trigger broadcast_stopped",
        ],
      },
    },
  },
  {
    claim:
      'Subscriptions that are gone are deleted where their push service accepts at least 5 %, and held where it accepts less',
    test: { file: heldDeletions, title: 'a push service that accepts' },
    changes: {
      'src/store/sqlite/deletion-guard.ts': {
        'the limit is 4 %': ['* answersPerAcceptance >=', '* (answersPerAcceptance + 5) >='],
        'the limit is more than 5 %': ['* answersPerAcceptance >=', '* (answersPerAcceptance - 1) >='],
      },
      'src/store/postgres/functions/deletion-guard.sql': {
        'the limit is 4 %': ['* :answersPerAcceptance >=', '* (:answersPerAcceptance + 5) >='],
        'the limit is more than 5 %': ['* :answersPerAcceptance >=', '* (:answersPerAcceptance - 1) >='],
      },
    },
  },
  {
    claim: 'Subscriptions that are gone when their message is tried again are deleted in a normal run',
    test: { file: heldDeletions, title: 'a normal run deletes what is gone' },
    changes: {
      'src/store/sqlite/commit-page.ts': {
        'only those that are gone at once are': [
          "if (row.result === 'gone') mark(row);",
          "if (row.result === 'gone' && page.slice) mark(row);",
        ],
        'what is answered then is not judged': [
          'if (answers === 0) continue;',
          'if (answers === 0 || !page.slice) continue;',
        ],
      },
      'src/store/postgres/functions/commit-page.sql': {
        'only those that are gone at once are': [
          'results, answered, gone,',
          "results, answered, case when slice is null then '[]' else gone end,",
        ],
      },
    },
  },
  {
    claim: 'An accepted message clears the mark of its subscription, also where it was tried again',
    test: { file: heldDeletions, title: 'marked rows stay in later audiences' },
    changes: {
      'src/store/sqlite/commit-page.ts': {
        'it does where it is accepted at once': [
          "row.result === 'accepted' && counts.hasMarks",
          "row.result === 'accepted' && page.slice && counts.hasMarks",
        ],
      },
      'src/store/postgres/functions/commit-page.sql': {
        'it does where it is accepted at once': [
          'accepted_ids, accepted_hashes);',
          'case when slice is not null then accepted_ids end, case when slice is not null then accepted_hashes end);',
        ],
      },
    },
  },
  {
    claim: 'The alarm `counts-differ` has the difference, also where more was counted than the audience has',
    test: { file: 'test/store/removed.test.ts', title: 'are missed where nothing tells of them' },
    changes: {
      'src/store/sqlite/finish-broadcast.ts': {
        'it has a number below 0': ['rows: Math.abs(finished.missing)', 'rows: finished.missing'],
      },
    },
  },
  {
    claim: 'A message of a list that is accepted clears the mark of the stored subscription',
    test: { file: heldDeletions, title: 'an acceptance clears the mark of a subscription that is held' },
    changes: {
      'src/store/sqlite/commit-page.ts': {
        'it does not': ['marks.unmarkByEndpoint(endpoint);', 'void endpoint;'],
      },
      'src/store/postgres/functions/commit-page.sql': {
        'it does not': [' or m.endpoint_hash = any (accepted_hashes)', ''],
      },
    },
  },
  {
    claim: 'A row that is tried again raises an alarm as one that was not sent before',
    test: { file: 'test/store/broadcast-suite.ts', title: 'an alarm is new once per broadcast' },
    changes: {
      'src/store/sqlite/commit-page.ts': {
        'it raises none': ['if (row.alarm !== undefined)', 'if (row.alarm !== undefined && page.slice)'],
      },
      'src/store/postgres/functions/commit-page.sql': {
        'it raises none': [
          'from jsonb_to_recordset(alarms) as a',
          "from jsonb_to_recordset(case when slice is null then '[]' else alarms end) as a",
        ],
      },
    },
  },
  {
    claim: 'A row is `expired`, and not sent, where its TTL is over before it can be tried again',
    test: { file: 'test/delivery/expired.test.ts', title: 'sends nothing again where the time of a message' },
    changes: {
      'src/delivery/worker/worker.ts': {
        'it is sent': [
          'if (nowMs >= tries.expiresAtMs)',
          'if (assignment.slice && nowMs >= tries.expiresAtMs)',
        ],
      },
    },
  },
  {
    claim: 'What is tried again is signed with the pair of its subscription, also by a sender that is new',
    test: { file: 'test/delivery/rotated-keys.test.ts', title: 'sends what is tried again with a pair' },
    changes: {
      'src/delivery/worker/workload.ts': {
        'the pair is not read': ['await destinations.loadKeys(lease.rows);', ''],
      },
    },
  },
  {
    claim: 'The alarm of held deletions says how to decide on those of its push service',
    test: { file: heldDeletions, title: 'an operator confirms or discards, for one origin' },
    changes: {
      'src/store/sqlite/alarms.ts': {
        'it is of another one': ['heldDeletionsDetail(origin)', "heldDeletionsDetail('')"],
      },
      'src/store/postgres/functions/alarms.sql': {
        'it is of no push service': [
          "replace(:heldDeletionsDetail, '{origin}', p_origin)",
          ':heldDeletionsDetail',
        ],
      },
      'src/store/held-deletions.ts': {
        'the command is another one': ['deskbell held-deletions confirm ', 'deskbell held-deletions list '],
      },
    },
  },
  {
    claim: 'Deletions are judged by what was accepted shortly before, though it was counted without a lock',
    test: { file: heldDeletions, title: 'what was accepted shortly before counts' },
    changes: {
      'src/store/postgres/functions/deletion-guard.sql': {
        'what was counted without the lock is lost': [
          'if unlocked.answers is null then return; end if;',
          'return;',
        ],
      },
    },
  },
  {
    claim: 'Many acceptances of long ago do not make a push service trusted that calls everything gone',
    test: { file: heldDeletions, title: 'single messages that are all answered gone at once are held' },
    changes: {
      'src/store/postgres/functions/deletion-guard.sql': {
        'marks are judged together with all that was counted before': [
          'if counted.answers >= :windowAnswers and not deskbell_functions.has_undecided(p_origin) then',
          'if false then',
        ],
      },
    },
  },
  {
    claim: '`send()` waits for no commit, except that a subscription is gone',
    test: { file: 'test/delivery/sender.test.ts', title: 'waits for the store with no message but that' },
    changes: {
      'src/delivery/single/answer-log.ts': {
        'who sends many waits': ['void this.#report();\n    else', 'return this.#report();\n    else'],
        'who sends to one that is gone does not wait': [
          "if (answer === 'gone') return",
          "if (answer === 'gone') void",
        ],
      },
    },
  },
  {
    claim: 'Answers to single messages that cannot be stored take a bounded amount of memory',
    test: { file: 'test/delivery/answer-log.test.ts', title: 'while the store is slow' },
    changes: {
      'src/delivery/single/gathered-answers.ts': {
        'each subscription is remembered': ['if (this.#remembered >= maxRemembered) return;', ''],
        'each push service is remembered': ['if (this.#tallies.size < maxOrigins) this', 'this'],
      },
    },
  },
  {
    claim:
      'An operator who confirms held deletions deletes those that are held, and one who discards them keeps those',
    test: { file: heldDeletions, title: 'what is confirmed or discarded is what is held' },
    changes: {
      'src/store/held-deletions.ts': {
        'both take what is marked and not held': ['and is_held = true', ''],
      },
    },
  },
  {
    claim: 'A cap per person counts from the first acceptance of a broadcast, on whichever device',
    test: { file: perPerson, title: 'counts from the first of the devices that accepts' },
    changes: {
      'src/store/sqlite/frequency-cap.ts': {
        'it counts from the last acceptance': ['is_accepted = 1 where is_accepted = 0', 'is_accepted = 1'],
      },
      'src/store/postgres/functions/frequency-cap.sql': {
        'it counts from the last acceptance': ['where not r.is_accepted', ''],
      },
    },
  },
  {
    claim: 'Rows of `--file` that are not stored subscriptions are never capped',
    test: { file: perPerson, title: 'finds persons in lists, and lets pass' },
    changes: {
      'src/store/sqlite/frequency-cap.ts': {
        'each of them is a person': [
          'from subscriptions where endpoint = :endpoint',
          'from subscriptions where endpoint = :endpoint union all select :endpoint limit 1',
        ],
      },
      'src/store/postgres/functions/frequency-cap.sql': {
        'each of them is a person': [
          'join deskbell.subscriptions s on s.endpoint_hash = h.hash',
          'join (select endpoint_hash, user_name, id::text from deskbell.subscriptions union all select g, null, g::text from unnest(hashes) g) s on s.endpoint_hash = h.hash',
        ],
      },
    },
  },
  {
    claim: 'A cap per person counts what a broadcast that is paused may still send',
    test: { file: perPerson, title: 'counts what a broadcast that is paused may still send' },
    changes: {
      'src/store/sqlite/frequency-cap.ts': {
        'a pause ends what is reserved': ["b.state in ('running', 'paused')", "b.state = 'running'"],
        'cancelling does not end it': ["b.state in ('running', 'paused')", "b.state <> 'done'"],
      },
      'src/store/postgres/functions/frequency-cap.sql': {
        'a pause ends what is reserved': ["b.state in ('running', 'paused')", "b.state = 'running'"],
        'cancelling does not end it': ["b.state in ('running', 'paused')", "b.state <> 'done'"],
      },
    },
  },
  {
    claim:
      'A row waits after its first attempt as long as Retry-After says, or 5 seconds where there is none',
    test: { file: retryPolicy, title: 'the first wait is what Retry-After asks for' },
    changes: {
      [policy]: {
        'it waits longer': [
          'const isFirstAsked = tries.attempts === 1 && afterMs > 0;',
          'const isFirstAsked = false;',
        ],
        'it waits for nothing where there is none': [
          'const isFirstAsked = tries.attempts === 1 && afterMs > 0;',
          'const isFirstAsked = tries.attempts === 1;',
        ],
      },
    },
  },
  {
    claim: 'A row is never tried again before Retry-After',
    test: { file: retryPolicy, title: 'further waits are the longer of Retry-After and the backoff' },
    changes: {
      [policy]: {
        'the backoff alone counts from the second wait on': [
          'isFirstAsked ? afterMs : Math.max(afterMs, backoffMs)',
          'isFirstAsked ? afterMs : backoffMs',
        ],
      },
    },
  },
  {
    claim: 'A crash repeats at most as many messages for each thread as the settings of a worker say',
    test: { file: 'test/delivery/workload.test.ts', title: 'commits that take long leave no more rows' },
    changes: {
      'src/delivery/worker/workload.ts': {
        'rows of a commit that is on its way are in no limit': [
          'Math.min(settings.batchRows, maxUncommittedOf(settings) - this.#uncommittedRows)',
          'settings.batchRows',
        ],
      },
    },
  },
  {
    claim: 'What a crash may repeat counts a row that was detached until its answer is stored',
    test: { file: 'test/delivery/assignment.test.ts', title: 'a row that is detached lets the cursor pass' },
    changes: {
      'src/delivery/worker/assignment.ts': {
        'it counts it no longer once it is detached': [
          "for (const { result } of rows) if (result !== 'detached') this.#uncommittedRows -= 1;",
          'this.#uncommittedRows -= rows.length;',
        ],
      },
    },
  },
  {
    claim:
      'Messages of one broadcast share header fields; another TTL, urgency or topic is sent as it is given',
    test: { file: 'test/delivery/sender.test.ts', title: 'messages that share origin and options share' },
    changes: {
      'src/delivery/message-path/header-source.ts': {
        'another topic is not': [' && one.topic === other.topic', ''],
        'another urgency is not': [' && one.urgency === other.urgency', ''],
        'another TTL is not': ['one.ttlSeconds === other.ttlSeconds && ', ''],
      },
    },
  },
  {
    claim: 'All pages name the same figure for what a crash repeats, that of the code',
    test: { file: 'test/documentation/figures.test.ts', title: 'every page gives the same figure' },
    changes: {
      'src/delivery/worker/worker-settings.ts': {
        'the code has another one': ['  maxPageRows + maxDetachedRows;', '  maxPageRows;'],
      },
      'docs/sending.md': { 'a page has another one': ['at most 7,168 messages', 'at most 4,096 messages'] },
    },
  },
  {
    claim:
      'A start of just now is sent, and a broadcast that is asked for again is the one that was made, whenever it started',
    test: {
      file: 'test/delivery/broadcast.test.ts',
      title: 'a start of just now is sent, and a repeated one',
    },
    changes: {
      'src/delivery/broadcast/create-broadcast.ts': {
        'a start of just now is refused': ['const maxLateMs = 60_000;', 'const maxLateMs = 0;'],
        'a repeated start of long ago is refused': [
          'if (known === undefined && occurrence === undefined)',
          'if (occurrence === undefined)',
        ],
      },
    },
  },
  {
    claim: 'An option that there is none of is refused, at every entry of the package',
    test: { file: 'test/options.test.ts', title: 'an option that there is none of is refused' },
    changes: {
      'src/errors/check-options.ts': {
        'it is ignored': ['if (Object.hasOwn(checks, option)) continue;', 'continue;'],
      },
    },
  },
  {
    claim: 'The data directory keeps the contact for push services that the first `send` is given',
    test: { file: 'test/cli/send.test.ts', title: 'a text alone is a message' },
    changes: {
      'src/cli/configuration/stored-settings.ts': {
        'it is not kept': ["'subject', ", ''],
        'each one is kept': ['replace || stored === undefined ? {}', 'true ? {}'],
      },
      'src/cli/configuration/sender-name.ts': {
        'a public URL is no contact': [
          '!isLocal(url) ? url.origin : undefined',
          'undefined ? url.origin : undefined',
        ],
      },
    },
  },
  {
    claim:
      'Without a subject, the contact is the origin of the public URL, if that is https and not of this machine',
    test: { file: 'test/cli/configuration.test.ts', title: 'the contact is the subject' },
    changes: {
      'src/cli/configuration/sender-name.ts': {
        'it has the path too': ['!isLocal(url) ? url.origin', '!isLocal(url) ? url.href'],
        'it is also a URL of this machine': [' && !isLocal(url) ? url.origin', ' ? url.origin'],
        'it stands before the subject': [
          'if (subject !== undefined || publicUrl === undefined)',
          'if (publicUrl === undefined)',
        ],
      },
    },
  },
  {
    claim: 'A broadcast whose start is more than a minute ago is refused',
    test: {
      file: 'test/delivery/broadcast.test.ts',
      title: 'needs a store, a good message, and a sender that is open',
    },
    changes: {
      'src/delivery/broadcast/create-broadcast.ts': {
        'all of its rows expire': ['startAt.getTime() >= nowMs - maxLateMs', 'startAt.getTime() > 0'],
      },
    },
  },
  {
    claim: 'A refused token is final for no row: where every message is refused, rows wait until they expire',
    test: {
      file: 'test/delivery/refusals-that-end.all.test.ts',
      title: 'by every push service wait until their time ends: the key may be wrong',
    },
    changes: {
      'src/delivery/worker/record.ts': {
        'a refused row is rejected at once': ["row.ifRefused !== 'reject'", "row.ifRefused === 'retry'"],
      },
    },
  },
  {
    claim: 'A push service is no longer held once none of its rows are held back, however they have ended',
    test: { file: 'test/store/push-services-suite.ts', title: 'a suspension ends with its last row' },
    changes: {
      'src/store/sqlite/push-services.ts': {
        'it stays held': ['where held_since_ms is not null and draws > 0', 'where false'],
        'the refusals of before count': ['held_since_ms = null, refusals_in_row = 0', 'held_since_ms = null'],
      },
      'src/store/postgres/functions/push-services.sql': {
        'it stays held': ['p.held_since_ms is not null and p.draws > 0', 'false'],
        'the refusals of before count': ['held_since_ms = null, refusals_in_row = 0', 'held_since_ms = null'],
      },
    },
  },
  {
    claim:
      'The store knows what came of every subscription in a broadcast, with each answer of its push service',
    test: {
      file: 'test/delivery/row-outcomes.all.test.ts',
      title: 'the store knows what came of each of 20,000 rows, as the push services do',
    },
    changes: {
      'src/store/attempt-sets.ts': {
        'attempts are not stored whose rows are tried again': [
          "return attempts > 0 && (result === 'retry' || result === 'refused') ? 'retry' : undefined;",
          'return undefined;',
        ],
      },
    },
  },
  {
    claim:
      'Command line, API and console say in words why somebody got nothing, those of the push service among them',
    test: {
      file: 'test/operator/outcomes.test.ts',
      title: 'the API answers why somebody got nothing',
    },
    changes: {
      'src/views/row-outcome.ts': {
        'the push service’s words are left out': ["[': ', { quoted: detail }, '.']", "['.']"],
      },
      'src/operator/person-devices.ts': {
        'what has ended is nobody’s any more': ['ended.ofUser(user, limit)', 'ended.ofUser(user, 0)'],
      },
    },
  },
  {
    claim: 'A single message that is answered gone deletes no subscription that was renewed with other keys',
    test: {
      file: 'test/store/held-deletions-suite.ts',
      title: 'a single message that is answered gone deletes its subscription',
    },
    changes: {
      'src/store/sqlite/deletion-guard.ts': {
        'its `auth` alone is compared': [
          'where endpoint = :endpoint and p256dh = :p256dh and',
          'where endpoint = :endpoint and :p256dh is not null and',
        ],
      },
      'src/store/sqlite/commit-page.ts': {
        'one of a list deletes none': ['marks.markByKeys(origin, recipient);', 'return;'],
      },
      'src/store/postgres/functions/commit-page.sql': {
        'of one of a list, its `p256dh` alone is compared': [
          ` and s.auth = decode(g."auth", 'hex')\n                else`,
          '\n                else',
        ],
        'of one of a list, its `auth` alone is compared': [
          `then s.p256dh = decode(g."p256dh", 'hex') and s.auth`,
          'then s.auth',
        ],
      },
      'src/store/postgres/functions/deletion-guard.sql': {
        'its `p256dh` alone is compared': [` and s.auth = decode(g."auth", 'hex')`, ''],
        'its `auth` alone is compared': [`s.p256dh = decode(g."p256dh", 'hex') and`, ''],
      },
    },
  },
  {
    claim: 'Each state of a subscription in a broadcast is explained in words of its own',
    test: { file: 'test/operator/outcomes.test.ts', title: 'each state is explained in words of its own' },
    changes: {
      'src/views/row-outcome.ts': {
        'who was given up is said to have expired': ["['It was given up'", "['Its time to live ended'"],
        'what it waits for is left out': ['accepts our token or key again`', 'answers`'],
        'when it is tried again is left out': ["['It is tried again', ...until", "['It is tried again'"],
        'the number of attempts is left out': ['` after ${last.attempt} attempts`', "''"],
        'of one that is gone it is left out': [
          'has ended`, ...at, ...answer(last)]',
          'has ended`, ...at, ...said(last)]',
        ],
        'who decides on a held deletion is left out': ["' until an operator decides.'", "'.'"],
      },
    },
  },
  {
    claim: 'The outcomes of a broadcast as CSV are read as fast as their reader takes them',
    test: {
      file: 'test/operator/outcomes.test.ts',
      title: 'the CSV is read from the store as its reader takes it',
    },
    changes: {
      'src/operator/send-outcomes.ts': {
        'all is read ahead': ['highWaterMark: 1', 'highWaterMark: 1000'],
      },
    },
  },
  {
    claim: '`--log-messages failed` logs a line for each message that is not accepted, without its endpoint',
    test: {
      file: 'test/cli/broadcasts.test.ts',
      title: 'messages that are not accepted make the exit code 1',
    },
    changes: {
      'src/delivery/worker/committer.ts': {
        'nothing is logged': [
          'if (messageLog !== undefined && !answer.isLeaseLost) logRows(messageLog, lease.broadcastId, rows);',
          'void [messageLog, logRows];',
        ],
      },
    },
  },
  {
    claim: 'Each of a list of ids gets the message once, however long the list is',
    test: { file: 'test/store/audiences-suite.ts', title: 'ids are sent to once each' },
    changes: {
      'src/store/preparations.ts': {
        'a later part is lost': ['insertSets(audienceId, first, some)', 'insertSets(audienceId, 0, some)'],
      },
    },
  },
  {
    claim:
      'Rows are `rejected` after an hour without an acceptance, all of them soon, unless a row is refused that was accepted before',
    test: { file: pushServices, title: 'after an hour without an acceptance' },
    changes: {
      'src/store/push-services.ts': {
        'an hour is not enough': [
          'waitedMs >= suspensionPolicy.patienceMs',
          'waitedMs > suspensionPolicy.patienceMs',
        ],
      },
      'src/store/sqlite/push-services.ts': {
        'one that was rejected since counts': [
          'statements.forget.run({ id, subscriptionId });',
          'void subscriptionId;',
        ],
        'another one that is rejected is taken for it': [
          '\n          and subscription_id = :subscriptionId',
          '',
        ],
      },
      'src/store/postgres/functions/push-services.sql': {
        'an hour is not enough': [
          'now_ms - since_ms >= :patienceMs and',
          'now_ms - since_ms > :patienceMs and',
        ],
        'one that is rejected while others are accepted counts': [
          'known.refused_at_ms and reported."rejectedSubscriptionIds" is null',
          'known.refused_at_ms',
        ],
        'one that was rejected since counts': [
          'where push_service_id = known.id and subscription_id = any (reported."rejectedSubscriptionIds");',
          'where false;',
        ],
        'the rows are asked for two minutes apart': [
          'case when are_last then :probePauseMs else greatest',
          'case when are_last then :maxProbePauseMs else greatest',
        ],
      },
    },
  },
  {
    claim: 'What a push service accepts in the moment after a refusal says that the refusal is the row’s own',
    test: { file: pushServices, title: 'what was accepted before the refusal says nothing of it' },
    changes: {
      'src/store/sqlite/push-services.ts': {
        'it does a moment later': [
          'p.accepted_at_ms >= :sinceMs as others',
          'p.accepted_at_ms > :sinceMs as others',
        ],
        'it does not where both are told at once': [
          '(hasRefused || known.accepted_at_ms',
          '(known.accepted_at_ms',
        ],
      },
      'src/store/postgres/functions/push-services.sql': {
        'it does a moment later': [
          'select p.accepted_at_ms >= since_ms,',
          'select p.accepted_at_ms > since_ms,',
        ],
        'it does not where both are told at once': [
          'reported."refusalsInRow" = known.refusals_in_row and not reported."hasRefused"',
          'reported."refusalsInRow" = known.refusals_in_row',
        ],
      },
    },
  },
  {
    claim: 'A push service that accepted before, and accepts again after a refusal, accepts others',
    test: { file: pushServices, title: 'a row that is refused is tried again, and rejected where' },
    changes: {
      'src/store/sqlite/push-services.ts': {
        'only its first acceptance counts': [
          'refusedAtMs: hasRefused ? nowMs : known.refused_at_ms',
          'refusedAtMs: known.refused_at_ms',
        ],
      },
      'src/store/postgres/functions/push-services.sql': {
        'only its first acceptance counts': [
          'case when reported."hasRefused" then now_ms else known.refused_at_ms end',
          'known.refused_at_ms',
        ],
      },
    },
  },
  {
    claim: 'How often a row was refused while its push service is held does not count towards five times',
    test: { file: pushServices, title: 'a refused probe goes back among the rows' },
    changes: {
      'src/store/sqlite/commit-page.ts': {
        'it does': ['refusals: isSuspended ? Math.min(refusals, 1) : refusals', 'refusals'],
      },
      'src/store/postgres/functions/commit-page.sql': {
        'it does': ['case when p.held_since_ms is not null then 1 end)', 'null)'],
      },
    },
  },
  {
    claim:
      'Probes are sent also in the middle of the time that is left, so that the rest is delivered in time',
    test: { file: pushServices, title: 'the pauses between probes grow' },
    changes: {
      'src/store/sqlite/push-services.ts': {
        'the next ones come when it is over': ['Math.floor(leftMs / 2)', 'leftMs'],
      },
      'src/store/postgres/functions/push-services.sql': {
        'the next ones come when it is over': [
          '(due.expires_at_ms - now_ms) / 2',
          '(due.expires_at_ms - now_ms)',
        ],
      },
    },
  },
  {
    claim: 'Subscriptions that two small broadcasts in turn call gone are not few each time',
    test: { file: heldDeletions, title: 'nineteen that are gone are few, twenty are not' },
    changes: {
      'src/store/sqlite/deletion-guard.ts': {
        'few answers alone say enough': [
          '(isInconclusive(window) && !isInconclusive(before))',
          'isInconclusive(window)',
        ],
      },
      'src/store/postgres/functions/deletion-guard.sql': {
        'few answers alone say enough': [
          `and exists (select from deskbell.answer_windows b
                                        where b.origin = p_origin and b.number = p_window - 1
                                          and b.answers >= :minWindowAnswers)`,
          '',
        ],
      },
    },
  },
  {
    claim:
      '`onGone` is called for all subscriptions that were deleted, however many, at the latest in `close()`',
    test: {
      file: 'test/delivery/gone-hook.test.ts',
      title: 'is told again by the same sender a second after',
    },
    changes: {
      'src/delivery/gone-hook.ts': {
        'only for the first hundred': ['while (page.length === batchSize)', 'while (false)'],
      },
    },
  },
  {
    claim:
      'A single 429 of Chrome’s push service raises the alarm `chrome-limit` where it asks to wait for ten minutes',
    test: { file: 'test/delivery/record.test.ts', title: 'raises an alarm where Chrome asks it to wait' },
    changes: {
      'src/delivery/limits/chrome-limit.ts': {
        sooner: ['suspiciousWaitMs = 10 * 60 * 1000', 'suspiciousWaitMs = 9 * 60 * 1000'],
        later: ['suspiciousWaitMs = 10 * 60 * 1000', 'suspiciousWaitMs = 11 * 60 * 1000'],
      },
    },
  },
  {
    claim:
      'What came of a subscription has all that is known of it as JSON and as CSV, also where nothing was sent yet',
    test: { file: 'test/operator/outcomes.test.ts', title: 'a line of CSV has the last attempt' },
    changes: {
      'src/views/row-outcome.ts': {
        'JSON says of receipts that they are kept': ["kept: receipts !== 'noLongerKept'", 'kept: true'],
        'JSON has no receipts': ["events: receipts === 'noLongerKept' ? [] : receipts", 'events: []'],
        'JSON has no held deletion': [
          'deletionHeldSince: heldSinceMs === undefined ? undefined : isoTime(heldSinceMs)',
          'deletionHeldSince: undefined',
        ],
        'JSON does not say until when it waits': [
          'until: wait.untilMs === undefined ? undefined : isoTime(wait.untilMs)',
          'until: undefined',
        ],
        'it expires with its wait': [
          'expiresAt: isoTime(wait.expiresAtMs)',
          'expiresAt: isoTime(wait.untilMs ?? wait.expiresAtMs)',
        ],
        'its push service is known from attempts only': [
          'pushService: origin,',
          'pushService: attempts[0]?.origin,',
        ],
      },
      'src/views/outcomes-csv.ts': {
        'CSV counts no attempts without the last one': [
          'last?.attempt ?? wait?.attempts ?? 0',
          'last?.attempt ?? 0',
        ],
        'CSV does not say that nothing was sent': [
          'last?.attempt ?? wait?.attempts ?? 0',
          'last?.attempt ?? wait?.attempts',
        ],
        'CSV does not say that receipts are no longer kept': [
          "typeof receipts === 'object' ? receipts.join(' ') : receipts",
          "typeof receipts === 'object' ? receipts.join(' ') : undefined",
        ],
      },
    },
  },
  {
    claim:
      'What came of a subscription is told of each row as it is now: its worker died, it was cancelled after a try',
    test: { file: 'test/store/attempts-suite.ts', title: 'a row is pending, waits, is in flight' },
    changes: {
      'src/store/row-outcomes.ts': {
        'what a worker held that died is still being sent': [
          'retry.token !== null && retry.due_at_ms > nowMs',
          'retry.token !== null',
        ],
        'one that was tried is not cancelled': [
          "if (head.state === 'cancelled') return 'cancelled';",
          "if (head.state === 'cancelled' && attempts.length === 0) return 'cancelled';",
        ],
      },
    },
  },
  {
    claim: 'The broadcasts to a person are listed however many there were to others in between',
    test: { file: 'test/store/attempts-suite.ts', title: 'a person’s devices have their broadcasts' },
    changes: {
      'src/store/row-outcomes.ts': {
        'only those among the last hundred': [
          'return { outcomes, next };\n    },',
          'return { outcomes };\n    },',
        ],
      },
    },
  },
  {
    claim: 'A deletion is said to be held only once it is, and not while it waits to be judged',
    test: {
      file: 'test/store/attempts-suite.ts',
      title: 'a deletion that is held is said, until it is decided',
    },
    changes: {
      'src/store/row-facts.ts': {
        'it is where it is marked': [
          'on m.subscription_id = s.id and m.is_held = true',
          'on m.subscription_id = s.id',
        ],
      },
    },
  },
  {
    claim: '`close()` tells `onGone` of what is answered while it waits, too',
    test: { file: 'test/delivery/gone-hook.test.ts', title: 'is told after a single message, and by itself' },
    changes: {
      'src/delivery/sender.ts': {
        'it tells what was answered before': [
          'await Promise.all([messages?.close(), broadcasts?.close()]);\n    await goneReports?.close();',
          'await Promise.all([messages?.close(), broadcasts?.close(), goneReports?.close()]);',
        ],
      },
    },
  },
  {
    claim: 'A page of rows raises an alarm for each reason that its push service gives',
    test: { file: 'test/store/broadcast-suite.ts', title: 'an alarm is new once per broadcast' },
    changes: {
      'src/store/sqlite/commit-page.ts': {
        'one for all': ['const key = `${alarm.origin} ${alarm.reason}`;', 'const key = alarm.origin;'],
      },
    },
  },
  {
    claim:
      'An attempt is known to be made between two times, the first of which is that of the earliest that was stored with it',
    test: {
      file: 'test/store/attempts-suite.ts',
      title: 'a broadcast and a subscription list their attempts',
    },
    changes: {
      'src/store/attempt-sets.ts': {
        'it is that of any of them': [
          'atMs < group.sinceMs) group.sinceMs = atMs;',
          'atMs < 0) group.sinceMs = atMs;',
        ],
        'it is that of the latest': ['atMs < group.sinceMs)', 'atMs > group.sinceMs)'],
      },
    },
  },
  {
    claim: 'The answers of several broadcasts are counted for each of them, the most frequent first',
    test: {
      file: 'test/store/attempts-suite.ts',
      title: 'answers other than acceptances are counted exactly',
    },
    changes: {
      'src/store/attempt-reader.ts': {
        'the rarest come first': [
          'order by sum(c.rows) desc, c.broadcast_id desc',
          'order by sum(c.rows), c.broadcast_id desc',
        ],
        'one of them is counted': ['{ broadcastIds },', '{ broadcastIds: broadcastIds.slice(0, 1) },'],
      },
    },
  },
  {
    claim: 'A proxy with a stray "%" in its user or password is refused, without its password',
    test: { file: 'test/transport/proxy.test.ts', title: 'a proxy is an http or https URL, and a bad one' },
    changes: {
      'src/errors/decode-percent.ts': {
        'the fault of the decoder is passed on': [
          'return undefined;',
          "throw new URIError('URI malformed');",
        ],
      },
    },
  },
  {
    claim: 'A 2xx of Windows’ push service with `dropped` is `rejected` whatever its number',
    test: { file: 'test/protocol/outcome.test.ts', title: 'kept and not repeated' },
    changes: {
      'src/protocol/outcome.ts': {
        'a 202 is an answer that nobody knows': [
          'if (status >= 200 && status <= 299) {',
          'if (status === 200) {',
        ],
      },
    },
  },
  {
    claim: '`Retry-After` counts with every answer after which a row is tried again',
    test: { file: 'test/protocol/outcome.test.ts', title: 'kept and tried again' },
    changes: {
      'src/protocol/outcome.ts': {
        'only where the push service asks everybody to wait': [
          "const afterMs = readRetryAfterMs(headers['retry-after'], nowMs);",
          "const afterMs = slowsOrigin ? readRetryAfterMs(headers['retry-after'], nowMs) : undefined;",
        ],
      },
    },
  },
  {
    claim: 'Of the devices of a person, twenty that are stored and the twenty that have ended last are shown',
    test: { file: 'test/operator/outcomes.test.ts', title: 'the API answers why somebody got nothing' },
    changes: {
      'src/operator/person-devices.ts': {
        'all that are stored are': ['stored: rows.slice(0, maxShownDevices)', 'stored: rows'],
        'more that have ended are': ['ended: gone.slice(0, maxShownDevices)', 'ended: gone'],
        'it is not said that more have ended': [
          'rows.length > maxShownDevices || gone.length > maxShownDevices',
          'rows.length > maxShownDevices',
        ],
      },
      'src/store/ended-subscriptions.ts': {
        'those that ended first are': [
          'order by gone_at_ms desc, id desc limit',
          'order by gone_at_ms, id desc limit',
        ],
      },
    },
  },
  {
    claim: 'What a push service asks to wait is known to all, though it has accepted messages just before',
    test: { file: pushServices, title: 'what one sender was asked to wait is known to all' },
    changes: {
      'src/store/postgres/functions/push-services.sql': {
        'it is known where it accepted none': [' and reported."waitMs" is null', ''],
      },
    },
  },
  {
    claim: 'The command keeps `--max-rate` and the time-outs that it is given',
    test: { file: 'test/cli/broadcasts.test.ts', title: 'the list has a column for each count' },
    changes: {
      'src/cli/send/open-sender.ts': {
        'any rate': ['ca, logMessages, ...options }', 'ca, logMessages, maxRate: _rate, ...options }'],
        'answers have half a minute': [
          'ca, logMessages, ...options }',
          'ca, logMessages, responseTimeoutMs: _timeout, ...options }',
        ],
      },
    },
  },
  {
    claim: '`held-deletions list` shows each push service with all that is held, since the first was marked',
    test: { file: heldDeletions, title: 'an operator confirms or discards, for one origin' },
    changes: {
      'src/store/sqlite/migrations.ts': {
        'since the last was': ['since_ms = min(since_ms, excluded.since_ms)', 'since_ms = excluded.since_ms'],
      },
      'src/store/sqlite/deletion-guard.ts': {
        'since it was marked again': [
          'origin = excluded.origin, answer_window = excluded.answer_window, is_held = 0',
          'origin = excluded.origin, answer_window = excluded.answer_window, is_held = 0, marked_at_ms = excluded.marked_at_ms',
        ],
      },
      'src/store/postgres/portable-database.ts': {
        'since the last was': ['order by marked_at_ms limit 1', 'order by marked_at_ms desc limit 1'],
      },
      'src/store/postgres/functions/commit-page.sql': {
        'since it was marked again': [
          'answer_window = excluded.answer_window, is_held = false',
          'answer_window = excluded.answer_window, is_held = false, marked_at_ms = excluded.marked_at_ms',
        ],
      },
      'src/store/held-deletions.ts': {
        'in any order': ['order by origin`', 'order by origin desc`'],
      },
    },
  },
  {
    claim:
      'Fewer than twenty are counted for each push service by itself, and what waits at another one is left alone',
    test: { file: heldDeletions, title: 'what waits to be judged at one push service does not matter' },
    changes: {
      'src/store/sqlite/deletion-guard.ts': {
        'all are counted together': [
          'from gone_marks where origin = :origin limit ${fewMarks}',
          'from gone_marks limit ${fewMarks}',
        ],
      },
      'src/store/postgres/functions/deletion-guard.sql': {
        'all are counted together': [
          'from deskbell.gone_marks where origin = p_origin limit :fewMarks',
          'from deskbell.gone_marks limit :fewMarks',
        ],
        'what waits elsewhere is deleted too': [
          'where m.origin = p_origin and not m.is_held and m.answer_window between',
          'where not m.is_held and m.answer_window between',
        ],
      },
    },
  },
  {
    claim: 'A few that are gone are deleted beside what is held, which stays',
    test: { file: heldDeletions, title: 'an acceptance clears the mark of a subscription that is held' },
    changes: {
      'src/store/sqlite/deletion-guard.ts': {
        'what is held is deleted with them': [
          'where origin = :origin and is_held = 0 and answer_window between',
          'where origin = :origin and answer_window between',
        ],
      },
      'src/store/postgres/functions/deletion-guard.sql': {
        'what is held is deleted with them': [
          'and not m.is_held and m.answer_window between',
          'and m.answer_window between',
        ],
      },
    },
  },
  {
    claim: 'Few subscriptions may be gone again once their push service has worked well',
    test: {
      file: heldDeletions,
      title: 'of single messages answered at once those that are gone are deleted',
    },
    changes: {
      'src/store/sqlite/deletion-guard.ts': {
        'never again': ['if (accepted > 0 && isHealthy(window))', 'if (accepted > 1e9 && isHealthy(window))'],
      },
      'src/store/postgres/functions/deletion-guard.sql': {
        'never again': ['if p_accepted > 0 and deskbell', 'if p_accepted > 1000000000 and deskbell'],
      },
    },
  },
  {
    claim: 'A push service that accepts almost nothing does not lose few subscriptions again and again',
    test: { file: heldDeletions, title: 'small broadcasts in turn are not few each time' },
    changes: {
      'src/store/sqlite/deletion-guard.ts': {
        'after each acceptance': ['if (accepted > 0 && isHealthy(window))', 'if (accepted > 0)'],
      },
      'src/store/postgres/functions/deletion-guard.sql': {
        'after each acceptance': [
          'if p_accepted > 0 and deskbell_functions.is_healthy(counted.answers, counted.accepted) then',
          'if p_accepted > 0 then',
        ],
      },
    },
  },
];
