// Figures that the documentation takes from constants of the code.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { maxCapWindowMs } from '../../src/audience/frequency-cap.ts';
import { defaultRetryPolicy } from '../../src/delivery/settings/retry-policy.ts';
import { maxPlaintextBytes } from '../../src/protocol/message-encryption.ts';
import { receiptMemberBytes } from '../../src/protocol/message/receipt-token.ts';
import { defaultWorkerSettings, maxUncommittedRows } from '../../src/delivery/settings/settings.ts';
import { defaultTimeLimits } from '../../src/http/create-http-server.ts';
import { defaultMaxPushServices, unlistedLimits } from '../../src/protocol/endpoint-policy.ts';
import { defaultReceiptsPerMinute, defaultRegistrationsPerMinute } from '../../src/http/client-limits.ts';
import { defaultTimeouts } from '../../src/transport/check-options.ts';
import { deletionGuardPolicy } from '../../src/store/deletion-guard.ts';
import { invitationLifetimeMs } from '../../src/store/invitations.ts';
import { defaultStatementTimeoutMs } from '../../src/store/postgres/connection.ts';
import { unusedFunctionsKeptDays } from '../../src/store/postgres/functions/use-functions.ts';
import { suspensionPolicy } from '../../src/store/push-services.ts';
import { receiptWindowMs } from '../../src/store/receipts.ts';
import { defaultRetention } from '../../src/store/retention.ts';
import { pages } from './pages.ts';

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const { probePauseMs, maxProbePauseMs } = suspensionPolicy;
const kibibytes = 1024;

/** Tests of what happens after a time take it from the code, so that they hold whatever it is. */
const promised: readonly string[] = [
  `Reports are counted for ${receiptWindowMs / dayMs} days from the start of the broadcast`,
  `For ${receiptWindowMs / dayMs} days from the start of a broadcast`,
  `accepts at most ${defaultReceiptsPerMinute} requests a minute with reports`,
  `takes ${receiptMemberBytes} of the ${maxPlaintextBytes} bytes`,
  `A message with a receipt is ${receiptMemberBytes} bytes longer`,
  `(\`keepAttemptsDays\`, ${defaultRetention.attempts} days)`,
  `| invitations | ${invitationLifetimeMs / minuteMs} minutes |`,
  `| ${receiptWindowMs / dayMs} days from the start of its broadcast |`,
  `a cap per person reached | ${maxCapWindowMs / dayMs} days,`,
  `| ${defaultRetention.broadcasts} days from their end | \`keepBroadcastsDays\` |`,
  `| ${defaultRetention.attempts} days from the end of the broadcast | \`keepAttemptsDays\` |`,
  `| audit records | ${defaultRetention.audit} days | \`keepAuditDays\` |`,
  `If there are fewer than ${deletionGuardPolicy.minWindowAnswers} responses, Deskbell raises neither`,
  `to ${defaultWorkerSettings.warnFromAudience.toLocaleString('en-US')} or more recipients prints one warning`,
  `${secondMs / probePauseMs} times a second at first, then less and less often, ` +
    `down to once every ${maxProbePauseMs / minuteMs} minutes`,
  ...Object.entries(defaultRetryPolicy).map(
    ([name, value]) => `| \`${name}\` | ${value.toLocaleString('en-US')} |`,
  ),
  `${defaultTimeouts.connectTimeoutMs / secondMs} s to connect (\`connectTimeoutMs\`)`,
  `${defaultTimeouts.responseTimeoutMs / secondMs} s for a response (\`responseTimeoutMs\`)`,
  `gets at most ${unlistedLimits.perSecond} broadcast messages a second and ${unlistedLimits.registrationsPerMinute} new ` +
    `subscriptions a minute, and there can be at most ${defaultMaxPushServices} of them`,
  `gets ${(defaultMaxPushServices * unlistedLimits.perSecond).toLocaleString('en-US')} messages a second`,
  `accepts less than ${100 / deletionGuardPolicy.answersPerAcceptance} % of its recent messages`,
  `Each client address may register ${defaultRegistrationsPerMinute} times a minute`,
  `Each client address may send ${defaultReceiptsPerMinute} requests a minute`,
  `| ${unlistedLimits.registrationsPerMinute} new subscriptions a minute |`,
  `| ${unlistedLimits.perSecond} messages a second |`,
  `| ${unlistedLimits.connections} connections |`,
  `${((defaultRetryPolicy.maxAttempts - 1) * 90 * minuteMs) / hourMs} hours later`,
  `${defaultTimeLimits.headersTimeoutMs / secondMs} s for headers, ${defaultTimeLimits.requestTimeoutMs / secondMs} s for a whole ` +
    `request, ${defaultTimeLimits.keepAliveTimeoutMs / secondMs} s for an idle connection`,
  `its leases expire within ${defaultWorkerSettings.leaseMs / 1000} seconds`,
  `Statements that take ${defaultStatementTimeoutMs / 1000} seconds are cancelled`,
  `it drops schemas that were not used for ${unusedFunctionsKeptDays} days`,
];

/** Figures in words, and those of constants that no other file knows: what each is, and the file and name of the constant. */
const inWords: readonly (readonly [words: string, value: number, file: string, name: string])[] = [
  ['tags of at most 35 characters', 35, 'protocol/language.ts', 'maxLanguageCharacters'],
  ['that was due within the last hour', hourMs, 'delivery/schedule/run-schedules.ts', 'latestMs'],
  ['a push service for fifteen seconds', 15 * secondMs, 'transport/admission.ts', 'unreachableAfterMs'],
  ['A session ends after twelve hours', 12 * hourMs, 'operator/console/sessions.ts', 'lifetimeMs'],
  [
    'after five attempts, which takes about a minute',
    5,
    'delivery/settings/retry-policy.ts',
    'unlistedTries',
  ],
  [
    'than five attempts, or ten minutes',
    10 * minuteMs,
    'delivery/settings/retry-policy.ts',
    'broadcastWaitsForUnlistedMs',
  ],
  ['at most six hours', 6 * hourMs, 'delivery/settings/retry-policy.ts', 'longestUnlistedWaitMs'],
  ['has had work due for a minute', minuteMs, 'delivery/alarms/late-work.ts', 'lateAfterMs'],
  ['at least 100 messages, if', 100, 'delivery/alarms/push-service-conditions.ts', 'judgedAnswers'],
  ['newest messages in the last 24 hours', dayMs, 'delivery/alarms/push-service-conditions.ts', 'judgedMs'],
  ['or ended less than 24 hours ago', dayMs, 'store/alarms.ts', 'alarmsKeptMs'],
  ['more than three minutes off', 3 * minuteMs, 'delivery/reports/clock-check.ts', 'toleratedClockMs'],
  ['Once a minute, senders compare the clock', minuteMs, 'delivery/reports/clock-check.ts', 'lookEveryMs'],
  ['reaches nine tenths of `maxSubscriptions`', 0.9, 'store/subscriptions.ts', 'warnAtShare'],
  ['If it ends within two seconds', 2 * secondMs, 'cli/serve/report-delivery.ts', 'othersEveryMs'],
  ['delete older data every hour', hourMs, 'cli/data/retention-loop.ts', 'everyMs'],
  ['| lists of recipients that no broadcast uses | 1 day |', dayMs, 'store/retention.ts', 'unusedForMs'],
  ['| subscriptions that ended, for `onGone` | 30 days |', 30 * dayMs, 'store/retention.ts', 'endedKeptMs'],
  ['checks for free space every second', secondMs, 'delivery/worker/create-worker.ts', 'tryAgainAfterMs'],
  ['** takes up to ten seconds, because', 10 * secondMs, 'transport/check-options.ts', 'defaultCloseGraceMs'],
  ['enough for 10,000 IDs', 10_000, 'operations/audience.ts', 'maxIds'],
  ['(50 by default,', 50, 'operator/api/operations.ts', 'defaultLimit'],
  ['by default, at most 500)', 500, 'operator/api/operations.ts', 'maxLimit'],
  ['A body may have at most 64 KiB', 64 * kibibytes, 'operator/api/add-api.ts', 'bodyLimitBytes'],
  ['may be up to 128 KiB long', 128 * kibibytes, 'operator/api/broadcasts.ts', 'bodyLimit'],
  ['up to 20 invalid fields', 20, 'http/problem.ts', 'maxFields'],
  ['a body has more than 100 values', 100, 'http/validation.ts', 'maxThoroughValues'],
  ['events that are three days old', 3 * dayMs, 'store/webhook-outbox.ts', 'webhookEventRetentionMs'],
  ['Keys are deleted after a day', dayMs, 'store/message-requests.ts', 'keyLifetimeMs'],
  ['(1 to 128 bytes, ', 128, 'audience/user-and-tags.ts', 'maxUserBytes'],
  ['up to 32 `tags`', 32, 'audience/user-and-tags.ts', 'maxTags'],
  ['(64 bytes each)', 64, 'audience/user-and-tags.ts', 'maxTagBytes'],
  ['for at least an hour', hourMs, 'store/retention.ts', 'freezingMs'],
  ['for a day, in the stored responses', dayMs, 'store/message-requests.ts', 'keyLifetimeMs'],
  ['You can have at most 100 channels.', 100, 'audience/channels.ts', 'maxChannels'],
  ['strings (at most 200 characters)', 200, 'audience/reader-facts.ts', 'maxTextCharacters'],
  ['1 KB as JSON', 1 * kibibytes, 'audience/reader-facts.ts', 'maxDataBytes'],
  ['at most an hour from now', 3600, 'service/push/subscriber-token.ts', 'maxLifetimeSeconds'],
  ['One minute of clock difference', 60, 'service/push/subscriber-token.ts', 'clockToleranceSeconds'],
  ['takes over after ten seconds', 10 * secondMs, 'store/preparations.ts', 'leaseMs'],
  ['wait for at most two seconds', 2 * secondMs, 'delivery/broadcaster.ts', 'maxCreationMs'],
  ['opens at most 4 connections', 4, 'store/postgres/connection.ts', 'defaultMaxConnections'],
  ['first connection and every 5 seconds', 5 * secondMs, 'store/postgres/writable-server.ts', 'lookEveryMs'],
  ['every 30 seconds how far its clock', 30 * secondMs, 'store/postgres/database.ts', 'learnAgainAfterMs'],
  ['polls every 2 seconds for the work', 2 * secondMs, 'store/postgres/leases.ts', 'lookWhileHearingEveryMs'],
  ['the worker polls four times a second', secondMs / 4, 'store/leases.ts', 'lookForWorkEveryMs'],
  ['retries calls for 20 seconds', 20 * secondMs, 'store/postgres/database.ts', 'defaultRetryForMs'],
  ['table of 65,536 rows', 65_536, 'store/client-requests.ts', 'clientPlaces'],
  ['Rows older than a minute', minuteMs, 'store/postgres/client-requests.ts', 'forgetEveryMs'],
  ['opens up to 4 more connections for each', 4, 'store/postgres/connection.ts', 'defaultMaxConnections'],
  ['- PostgreSQL 15 or newer', 15, 'store/postgres/preflight.ts', 'minVersion'],
  ['split into 32 partitions', 32, 'store/postgres/migrations.ts', 'partitions'],
  ['value is 1 to 100.', 100, 'store/delivery-options.ts', 'maxSkipInactive'],
  // characters of six bits each
  ['truncated to 132 bits', 22, 'protocol/message/receipt-token.ts', 'macLength'],
  ['waits a second for more reports', secondMs, 'client/worker/receipts.ts', 'receiptDelayMs'],
  ['sends up to 50 reports together', 50, 'client/worker/receipts.ts', 'maxReceipts'],
  ['lease slices of 2,000 subscriptions', 2000, 'store/slices.ts', 'defaultSliceRows'],
  ['does not answer within a second', secondMs, 'http/client-limits.ts', 'answerWithinMs'],
  ['for the next five seconds', 5 * secondMs, 'http/client-limits.ts', 'aloneForMs'],
  ['the responses in one commit, once a second', secondMs, 'delivery/single/answer-log.ts', 'reportAfterMs'],
  ['or after every thousand', 1000, 'delivery/single/answer-log.ts', 'maxPending'],
  ['is at most 64 KiB long', 64 * kibibytes, 'http/problem.ts', 'maxErrorBytes'],
  ['(256 KiB for a message)', 256 * kibibytes, 'operator/console/pages/send.ts', 'bodyLimit'],
  ["4 KiB for the console's forms", 4096, 'operator/console/forms.ts', 'bodyLimitBytes'],
  ['The limit is 16 KiB for request bodies', 16 * kibibytes, 'http/json-body.ts', 'defaultBodyLimitBytes'],
  ['valid for twelve hours', 12 * 3600, 'protocol/vapid.ts', 'defaultTokenLifetimeSeconds'],
  ['a list of 10,000 ids', 10_000, 'operations/audience.ts', 'maxIds'],
  ['If there are more than 100,000 readers', 100_000, 'cli/send/dry-run.ts', 'maxReaders'],
  ['For fewer than 2,000 messages', 2000, 'delivery/worker/run-workers.ts', 'rowsForThread'],
  ['takes more than two seconds', 2 * secondMs, 'delivery/broadcaster.ts', 'maxCreationMs'],
  ['the next worker sends it up to an hour late', hourMs, 'delivery/schedule/run-schedules.ts', 'latestMs'],
  ['a TTL under an hour is treated as one hour', hourMs, 'store/reader-times.ts', 'minLifetimeMs'],
  ['other than `gone` together, once a second', secondMs, 'delivery/single/answer-log.ts', 'reportAfterMs'],
  ['tries up to five times to store each batch', 5, 'delivery/single/answer-log.ts', 'maxTries'],
  ['usually within about a second', secondMs, 'delivery/reports/gone-hook.ts', 'intervalMs'],
  ['After twenty refusals in a row', 20, 'store/push-services.ts', 'refusalsToSuspend'],
  ['probes a held push service with four messages at a time', 4, 'store/push-services.ts', 'probeRows'],
  ['refuses a message five times', 5, 'store/push-services.ts', 'maxRefusals'],
  ['fewer than 20 of its subscriptions are marked', 20, 'store/deletion-guard.ts', 'fewMarks'],
  ['nothing is accepted for an hour', hourMs, 'store/push-services.ts', 'patienceMs'],
  ['**If a push service fails** ten times in a row', 10, 'transport/breaker.ts', 'maxFailuresInRow'],
  ['for an hour at most', hourMs, 'transport/breaker.ts', 'maxRetryAfterMs'],
  ['a quarter of a second', 1 / 4, 'store/push-services.ts', 'burstSeconds'],
  ['one to two minutes for a client that does', minuteMs, 'http/create-http-server.ts', 'readTimeoutMs'],
  ['| 100 push services |', 100, 'protocol/endpoint-policy.ts', 'defaultMaxPushServices'],
  ['Every 90 minutes, Deskbell retries a message', 90 * minuteMs, 'protocol/outcome.ts', 'askAgainAfterMs'],
  ['| `maxBodyBytes` | 4096 |', 4096, 'push-service/limits.ts', 'maxBodyBytes'],
  ['`maxMessagesPerSubscription` | 100', 100, 'push-service/limits.ts', 'maxMessagesPerSubscription'],
  ['`maxStoredBytes` | 64 MiB', 64 * kibibytes * kibibytes, 'push-service/limits.ts', 'maxStoredBytes'],
  ['| `maxSubscriptions` | 100 000 |', 100_000, 'push-service/limits.ts', 'maxSubscriptions'],
  ['| `maxSinks` | 10 000 000 |', 10_000_000, 'push-service/limits.ts', 'maxSinks'],
  ['| `maxConnections` | 10 000 |', 10_000, 'push-service/limits.ts', 'maxConnections'],
  ['| `maxConcurrentStreams` | 100 per', 100, 'push-service/limits.ts', 'maxConcurrentStreams'],
  ['| `maxTtlSeconds` | 30 days |', (30 * dayMs) / secondMs, 'push-service/limits.ts', 'maxTtlSeconds'],
  ['waits 10 s at most', 10 * secondMs, 'push-service/browser-side/user-agent.ts', 'defaultWaitMs'],
];

test('pages name the times and limits of the code', () => {
  const text = pages
    .filter(({ path }) => path.startsWith('docs/'))
    .map((page) => page.text.replaceAll(/\s+/g, ' '))
    .join('\n');
  const words = [...promised, ...inWords.map(([inPage]) => inPage)];
  assert.deepEqual(
    words.filter((each) => !text.includes(each)),
    [],
  );
  const others = inWords.filter(([, value, file, name]) => readConstant(file, name) !== value);
  assert.deepEqual(others, []);
});

/** @returns the value of a constant, or of a property of one, that is a number or a product of numbers */
function readConstant(file: string, name: string): number {
  const source = readFileSync(join(import.meta.dirname, '../../src', file), 'utf8');
  const definition = new RegExp(`^(?:(?:export )?const ${name} =|  ${name}:) ([\\d_.* ]+)[;,]$`, 'm');
  const [, factors = ''] = definition.exec(source) ?? [];
  return factors
    .split('*')
    .reduce((product, factor) => product * Number(factor.replaceAll('_', '') || NaN), 1);
}

test('every page gives the same figure for what a crash repeats, that of the code', () => {
  const paragraphs = pages.flatMap(({ path, text }) =>
    text.split(/\n\n/).map((paragraph) => ({ path, paragraph })),
  );
  const figures = paragraphs
    .filter(({ paragraph }) => /\brepeats?\b|\bsent (?:again|twice)\b/i.test(paragraph))
    .flatMap(({ path, paragraph }) =>
      Array.from(paragraph.matchAll(/(\d[\d,]*)\s(?:messages|rows)\b/g), ([, figure]) => ({ path, figure })),
    )
    .filter(({ path }) => path !== 'CHANGELOG.md');
  const expected = maxUncommittedRows.toLocaleString('en-US');
  assert.deepEqual(
    figures,
    ['docs/delivery.md', 'docs/message-path.md', 'docs/operations.md'].map((path) => ({
      path,
      figure: expected,
    })),
  );
});
