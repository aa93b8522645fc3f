// Figures that the documentation takes from constants of the code.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { maxCapWindowMs } from '../../src/audience/frequency-cap.ts';
import { defaultRetryPolicy } from '../../src/delivery/worker/retry-policy.ts';
import { maxPlaintextBytes } from '../../src/protocol/message-encryption.ts';
import { receiptMemberBytes } from '../../src/protocol/message/receipt-token.ts';
import { defaultWorkerSettings, maxUncommittedRows } from '../../src/delivery/worker/worker-settings.ts';
import { defaultTimeLimits } from '../../src/http/time-limits.ts';
import { defaultMaxPushServices, unlistedLimits } from '../../src/protocol/unlisted-push-services.ts';
import {
  defaultReceiptsPerMinute,
  defaultRegistrationsPerMinute,
} from '../../src/service/push/rate-limit.ts';
import { defaultTimeouts } from '../../src/transport/timeouts.ts';
import { deletionGuardPolicy } from '../../src/store/held-deletions.ts';
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
const promised: readonly (readonly [page: string, words: string])[] = [
  ['receipts', `Reports are counted for ${receiptWindowMs / dayMs} days from the start of the broadcast`],
  ['receipts', `For ${receiptWindowMs / dayMs} days from the start of a broadcast`],
  ['receipts', `\`receiptsPerMinute\` requests a minute (${defaultReceiptsPerMinute})`],
  ['receipts', `takes ${receiptMemberBytes} of the ${maxPlaintextBytes} bytes`],
  ['receipts', `each row has its own payload: ${receiptMemberBytes} bytes more to send`],
  ['receipts', `(\`keepAttemptsDays\`, ${defaultRetention.attempts} days)`],
  ['operations', `| invitations | ${invitationLifetimeMs / minuteMs} minutes |`],
  ['operations', `| ${receiptWindowMs / dayMs} days from the start of its broadcast |`],
  ['operations', `a cap per person reached | ${maxCapWindowMs / dayMs} days,`],
  ['operations', `| ${defaultRetention.broadcasts} days from their end | \`keepBroadcastsDays\` |`],
  [
    'operations',
    `| ${defaultRetention.attempts} days from the end of the broadcast | \`keepAttemptsDays\` |`,
  ],
  ['operations', `| audit records | ${defaultRetention.audit} days | \`keepAuditDays\` |`],
  ['operations', `With fewer than ${deletionGuardPolicy.minWindowAnswers} answers, neither`],
  [
    'sending',
    `to ${defaultWorkerSettings.warnFromAudience.toLocaleString('en-US')} or more prints one warning`,
  ],
  [
    'sending',
    `${secondMs / probePauseMs} times a second at first, later every ${maxProbePauseMs / minuteMs} minutes`,
  ],
  ...Object.entries(defaultRetryPolicy).map(
    ([name, value]) => ['sending', `| \`${name}\` | ${value.toLocaleString('en-US')} |`] as const,
  ),
  ['sending', `${defaultTimeouts.connectTimeoutMs / secondMs} s to connect (\`connectTimeoutMs\`)`],
  ['sending', `${defaultTimeouts.responseTimeoutMs / secondMs} s for an answer (\`responseTimeoutMs\`)`],
  [
    'security',
    `gets at most ${unlistedLimits.perSecond} messages a second of broadcasts and ${unlistedLimits.registrationsPerMinute} new ` +
      `subscriptions a minute, and there are at most ${defaultMaxPushServices} of them`,
  ],
  [
    'security',
    `get ${(defaultMaxPushServices * unlistedLimits.perSecond).toLocaleString('en-US')} messages a second`,
  ],
  [
    'security',
    `accepts less than ${100 / deletionGuardPolicy.answersPerAcceptance} % of its recent messages`,
  ],
  ['security', `${defaultRegistrationsPerMinute} registrations per minute and client address`],
  ['security', `${defaultReceiptsPerMinute} requests per minute and client address`],
  ['service', `| ${unlistedLimits.registrationsPerMinute} new subscriptions a minute |`],
  ['service', `| ${unlistedLimits.perSecond} messages a second |`],
  ['service', `| ${unlistedLimits.connections} connections |`],
  ['service', `${((defaultRetryPolicy.maxAttempts - 1) * 90 * minuteMs) / hourMs} hours later`],
  [
    'service',
    `${defaultTimeLimits.headersTimeoutMs / secondMs} s for headers, ${defaultTimeLimits.requestTimeoutMs / secondMs} s for a whole ` +
      `request, ${defaultTimeLimits.keepAliveTimeoutMs / secondMs} s for an idle connection`,
  ],
  ['scaling', `after its lease of ${defaultWorkerSettings.leaseMs / 1000} seconds ends`],
  ['postgresql', `A statement that takes ${defaultStatementTimeoutMs / 1000} seconds is cancelled`],
  ['postgresql', `a schema unused for ${unusedFunctionsKeptDays} days is dropped`],
];

/** Figures in words, and those of constants that no other file knows: what each is, and the file and name of the constant. */
const inWords: readonly (readonly [
  page: string,
  words: string,
  value: number,
  file: string,
  name: string,
])[] = [
  ['notifications', 'tags of at most 35 characters', 35, 'protocol/language.ts', 'maxLanguageCharacters'],
  ['operations', 'those due within the last hour', hourMs, 'delivery/schedule/run-schedules.ts', 'latestMs'],
  [
    'operations',
    'not reached a push service for fifteen seconds',
    15 * secondMs,
    'transport/admission.ts',
    'unreachableAfterMs',
  ],
  ['operations', 'has been due for a minute', minuteMs, 'delivery/alarms/work-conditions.ts', 'lateAfterMs'],
  [
    'operations',
    'at least 100 where there are',
    100,
    'delivery/alarms/push-service-conditions.ts',
    'judgedAnswers',
  ],
  [
    'operations',
    'answers in the last 24 hours',
    dayMs,
    'delivery/alarms/push-service-conditions.ts',
    'judgedMs',
  ],
  ['operations', 'or ended less than 24 hours ago', dayMs, 'store/alarms.ts', 'alarmsKeptMs'],
  ['operations', 'more than three minutes off', 3 * minuteMs, 'delivery/clock-check.ts', 'toleratedClockMs'],
  ['operations', 'compare it once a minute', minuteMs, 'delivery/clock-check.ts', 'lookEveryMs'],
  [
    'operations',
    'when nine tenths of `maxSubscriptions` are',
    0.9,
    'store/subscription-limit.ts',
    'warnAtShare',
  ],
  ['operations', 'is over within two seconds', 2 * secondMs, 'cli/serve/report-delivery.ts', 'othersEveryMs'],
  ['operations', 'delete older data each hour', hourMs, 'cli/data/retention-loop.ts', 'everyMs'],
  [
    'operations',
    '| lists of recipients that no broadcast uses | 1 day |',
    dayMs,
    'store/retention.ts',
    'unusedForMs',
  ],
  [
    'operations',
    '| subscriptions that ended, for `onGone` | 30 days |',
    30 * dayMs,
    'store/retention.ts',
    'endedKeptMs',
  ],
  [
    'operations',
    'checks for free space every second',
    secondMs,
    'delivery/worker/wait-for-disk-space.ts',
    'tryAgainAfterMs',
  ],
  [
    'operations',
    'Stopping takes up to ten seconds',
    10 * secondMs,
    'transport/timeouts.ts',
    'defaultCloseGraceMs',
  ],
  ['operator-api', 'with 10,000 ids', 10_000, 'views/audience.ts', 'maxIds'],
  ['operator-api', '(50 by default,', 50, 'operator/api/page.ts', 'defaultLimit'],
  ['operator-api', 'by default, at most 500)', 500, 'operator/api/page.ts', 'maxLimit'],
  ['operator-api', 'A body has at most 64 KiB', 64 * kibibytes, 'operator/api/add-api.ts', 'bodyLimitBytes'],
  ['operator-api', 'at most 128 KiB', 128 * kibibytes, 'operator/api/broadcast-requests.ts', 'bodyLimit'],
  ['operator-api', 'up to 20 wrong fields', 20, 'http/problem.ts', 'maxFields'],
  ['operator-api', 'a body of more than 100 values', 100, 'http/validation.ts', 'maxThoroughValues'],
  [
    'operator-api',
    'that are three days old are dropped',
    3 * dayMs,
    'store/webhook-outbox.ts',
    'webhookEventRetentionMs',
  ],
  ['operator-api', 'Keys are deleted after a day', dayMs, 'store/message-requests.ts', 'keyLifetimeMs'],
  ['people', '(1 to 128 bytes)', 128, 'audience/user-and-tags.ts', 'maxUserBytes'],
  ['people', 'up to 32 `tags`', 32, 'audience/user-and-tags.ts', 'maxTags'],
  ['people', '(64 bytes each)', 64, 'audience/user-and-tags.ts', 'maxTagBytes'],
  ['people', 'for at least an hour', hourMs, 'store/retention.ts', 'freezingMs'],
  ['people', 'and outcomes for a day', dayMs, 'store/message-requests.ts', 'keyLifetimeMs'],
  ['people', 'There are at most 100.', 100, 'audience/channels.ts', 'maxChannels'],
  ['people', 'texts (at most 200 characters)', 200, 'audience/reader-facts.ts', 'maxTextCharacters'],
  ['people', '1 KB as JSON', 1 * kibibytes, 'audience/reader-facts.ts', 'maxDataBytes'],
  ['people', 'at most an hour from now', 3600, 'service/push/subscriber-token.ts', 'maxLifetimeSeconds'],
  [
    'people',
    'One minute of clock difference',
    60,
    'service/push/subscriber-token.ts',
    'clockToleranceSeconds',
  ],
  ['people', 'continues after ten seconds', 10 * secondMs, 'store/preparations.ts', 'leaseMs'],
  ['postgresql', 'opens at most 4 connections', 4, 'store/postgres/connection.ts', 'defaultMaxConnections'],
  [
    'postgresql',
    'first connection and every 5 seconds',
    5 * secondMs,
    'store/postgres/writable-server.ts',
    'lookEveryMs',
  ],
  [
    'postgresql',
    'every 30 seconds while it works',
    30 * secondMs,
    'store/postgres/server-clock.ts',
    'learnAgainAfterMs',
  ],
  [
    'postgresql',
    'polls every 2 seconds for work',
    2 * secondMs,
    'store/postgres/leases.ts',
    'lookWhileHearingEveryMs',
  ],
  ['postgresql', 'it polls four times a second', secondMs / 4, 'store/leases.ts', 'lookForWorkEveryMs'],
  [
    'postgresql',
    'calls are retried for 20 seconds',
    20 * secondMs,
    'store/postgres/database.ts',
    'defaultRetryForMs',
  ],
  ['postgresql', 'table of 65,536 rows', 65_536, 'store/client-requests.ts', 'clientPlaces'],
  ['postgresql', 'Rows older than a minute', minuteMs, 'store/postgres/client-requests.ts', 'forgetEveryMs'],
  ['people', 'wait at most two seconds', 2 * secondMs, 'delivery/broadcast/broadcaster.ts', 'maxCreationMs'],
  ['receipts', 'It may be 1 to 100.', 100, 'store/delivery-options.ts', 'maxSkipInactive'],
  // characters of six bits each
  ['receipts', 'truncated to 132 bits', 22, 'protocol/message/receipt-token.ts', 'macLength'],
  ['receipts', 'waits a second for others', secondMs, 'client/worker/receipts.ts', 'receiptDelayMs'],
  ['receipts', 'sends up to 50 of them', 50, 'client/worker/receipts.ts', 'maxReceipts'],
  [
    'postgresql',
    'plus at most 4 for each thread',
    4,
    'store/postgres/connection.ts',
    'defaultMaxConnections',
  ],
  ['postgresql', '- PostgreSQL 15 or newer', 15, 'store/postgres/preflight.ts', 'minVersion'],
  ['postgresql', 'are in 32 partitions', 32, 'store/postgres/migrations.ts', 'partitions'],
  ['scaling', 'are in 32 partitions', 32, 'store/postgres/migrations.ts', 'partitions'],
  ['scaling', 'opens at most 4 connections', 4, 'store/postgres/connection.ts', 'defaultMaxConnections'],
  [
    'scaling',
    'connection and every 5 seconds',
    5 * secondMs,
    'store/postgres/writable-server.ts',
    'lookEveryMs',
  ],
  [
    'scaling',
    'calls are retried for 20 seconds',
    20 * secondMs,
    'store/postgres/database.ts',
    'defaultRetryForMs',
  ],
  ['scaling', 'lease slices of 2,000 rows', 2000, 'store/slices.ts', 'defaultSliceRows'],
  ['scaling', 'does not answer within a second', secondMs, 'service/push/client-limits.ts', 'answerWithinMs'],
  ['scaling', 'until five seconds after that', 5 * secondMs, 'service/push/client-limits.ts', 'aloneForMs'],
  ['scaling', 'stores the answers of a second,', secondMs, 'delivery/single/answer-log.ts', 'reportAfterMs'],
  ['scaling', 'or a thousand of them', 1000, 'delivery/single/answer-log.ts', 'maxPending'],
  ['security', 'has at most 64 KiB', 64 * kibibytes, 'http/problem.ts', 'maxErrorBytes'],
  ['security', '(256 KiB for a message)', 256 * kibibytes, 'operator/console/pages/send.ts', 'bodyLimit'],
  ['security', "4 KiB for the console's forms", 4096, 'operator/console/forms.ts', 'bodyLimitBytes'],
  ['security', '16 KiB bodies', 16 * kibibytes, 'http/json-body.ts', 'defaultBodyLimitBytes'],
  ['security', 'valid for twelve hours', 12 * 3600, 'protocol/vapid-token.ts', 'defaultTokenLifetimeSeconds'],
  ['sending', 'of the 100,000 oldest subscriptions at most', 100_000, 'cli/send/dry-run.ts', 'maxReaders'],
  ['sending', 'Below 2,000 rows a thread', 2000, 'delivery/worker/thread-count.ts', 'rowsForThread'],
  [
    'sending',
    'takes more than two seconds',
    2 * secondMs,
    'delivery/broadcast/broadcaster.ts',
    'maxCreationMs',
  ],
  ['sending', 'is sent up to an hour late', hourMs, 'delivery/schedule/run-schedules.ts', 'latestMs'],
  ['sending', 'less than an hour counts as an hour', hourMs, 'store/reader-times.ts', 'minLifetimeMs'],
  ['sending', 'stored together, once a second', secondMs, 'delivery/single/answer-log.ts', 'reportAfterMs'],
  ['sending', 'tries to store each batch five times', 5, 'delivery/single/answer-log.ts', 'maxTries'],
  ['sending', 'comes within about a second', secondMs, 'delivery/gone-hook.ts', 'intervalMs'],
  ['sending', 'After twenty in a row', 20, 'store/push-services.ts', 'refusalsToSuspend'],
  ['sending', 'Four rows at a time are sent as probes', 4, 'store/push-services.ts', 'probeRows'],
  ['sending', 'if it is refused five times', 5, 'store/push-services.ts', 'maxRefusals'],
  ['sending', 'fewer than 20 of its subscriptions', 20, 'store/held-deletions.ts', 'fewMarks'],
  ['sending', 'nothing is accepted for an hour', hourMs, 'store/push-services.ts', 'patienceMs'],
  ['sending', 'ten messages in a row with failures', 10, 'transport/breaker.ts', 'maxFailuresInRow'],
  ['sending', 'for an hour at most', hourMs, 'transport/breaker.ts', 'maxRetryAfterMs'],
  ['sending', 'a quarter of a second', 1 / 4, 'store/rate-shares.ts', 'burstSeconds'],
  [
    'service',
    'one to two minutes for a client that does not read its answer',
    minuteMs,
    'http/time-limits.ts',
    'readTimeoutMs',
  ],
  ['push-service', '| `maxBodyBytes` | 4096 |', 4096, 'push-service/limits.ts', 'maxBodyBytes'],
  [
    'push-service',
    '| `maxMessagesPerSubscription` | 100 undelivered |',
    100,
    'push-service/limits.ts',
    'maxMessagesPerSubscription',
  ],
  [
    'push-service',
    '| `maxStoredBytes` | 64 MiB undelivered,',
    64 * kibibytes * kibibytes,
    'push-service/limits.ts',
    'maxStoredBytes',
  ],
  ['push-service', '| `maxSubscriptions` | 100 000 |', 100_000, 'push-service/limits.ts', 'maxSubscriptions'],
  ['push-service', '| `maxSinks` | 10 000 000 |', 10_000_000, 'push-service/limits.ts', 'maxSinks'],
  ['push-service', '| `maxConnections` | 10 000 |', 10_000, 'push-service/limits.ts', 'maxConnections'],
  [
    'push-service',
    '| `maxConcurrentStreams` | 100 per',
    100,
    'push-service/limits.ts',
    'maxConcurrentStreams',
  ],
  [
    'push-service',
    '| `maxTtlSeconds` | 30 days |',
    (30 * dayMs) / secondMs,
    'push-service/limits.ts',
    'maxTtlSeconds',
  ],
  [
    'push-service',
    'waits 10 s at most',
    10 * secondMs,
    'push-service/browser-side/user-agent.ts',
    'defaultWaitMs',
  ],
  ['security', 'a list of 10,000 ids', 10_000, 'views/audience.ts', 'maxIds'],
  ['service', '| 100 push services |', 100, 'protocol/unlisted-push-services.ts', 'defaultMaxPushServices'],
  ['service', 'again every 90 minutes', 90 * minuteMs, 'protocol/ntfy.ts', 'askAgainAfterMs'],
];

test('pages name the times and limits of the code', () => {
  const texts = new Map(pages.map(({ path, text }) => [path, text.replaceAll(/\s+/g, ' ')]));
  const isMissing = ([page, words]: readonly [string, string, ...unknown[]]): boolean =>
    !texts.get(`docs/${page}.md`)?.includes(words);
  assert.deepEqual([...promised, ...inWords].filter(isMissing), []);
  const others = inWords.filter(([, , value, file, name]) => readConstant(file, name) !== value);
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
    ['docs/architecture.md', 'docs/operations.md', 'docs/sending.md'].map((path) => ({
      path,
      figure: expected,
    })),
  );
});
