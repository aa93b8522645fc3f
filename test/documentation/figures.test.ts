// Figures that the documentation takes from constants of the code.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxCapWindowMs } from '../../src/audience/frequency-cap.ts';
import { defaultWorkerSettings, maxUncommittedRows } from '../../src/delivery/worker/worker-settings.ts';
import {
  defaultReceiptsPerMinute,
  defaultRegistrationsPerMinute,
} from '../../src/service/push/rate-limit.ts';
import { deletionGuardPolicy } from '../../src/store/held-deletions.ts';
import { invitationLifetimeMs } from '../../src/store/invitations.ts';
import { defaultStatementTimeoutMs } from '../../src/store/postgres/connection.ts';
import { unusedFunctionsKeptDays } from '../../src/store/postgres/functions/use-functions.ts';
import { receiptWindowMs } from '../../src/store/receipts.ts';
import { defaultRetention } from '../../src/store/retention.ts';
import { pages } from './pages.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** Tests of what happens after a time take it from the code, so that they hold whatever it is. */
const promised: readonly (readonly [page: string, words: string])[] = [
  ['receipts', `Reports are counted for ${receiptWindowMs / dayMs} days from the start of the broadcast`],
  ['receipts', `For ${receiptWindowMs / dayMs} days from the start of a broadcast`],
  ['operations', `| invitations | ${invitationLifetimeMs / minuteMs} minutes |`],
  ['operations', `a cap per person reached | ${maxCapWindowMs / dayMs} days,`],
  ['operations', `| ${defaultRetention.broadcasts} days from their end | \`keepBroadcastsDays\` |`],
  [
    'operations',
    `| ${defaultRetention.attempts} days from the end of the broadcast | \`keepAttemptsDays\` |`,
  ],
  ['operations', `| audit records | ${defaultRetention.audit} days | \`keepAuditDays\` |`],
  ['operations', `Fewer than ${deletionGuardPolicy.minWindowAnswers} answers say nothing.`],
  ['security', `${defaultRegistrationsPerMinute} registrations per minute and client address`],
  ['security', `${defaultReceiptsPerMinute} requests per minute and client address`],
  ['scaling', `after its lease of ${defaultWorkerSettings.leaseMs / 1000} seconds ends`],
  ['postgresql', `A statement that takes ${defaultStatementTimeoutMs / 1000} seconds is cancelled`],
  ['postgresql', `a schema unused for ${unusedFunctionsKeptDays} days is dropped`],
];

test('pages name the times and limits of the code', () => {
  const texts = new Map(pages.map(({ path, text }) => [path, text.replaceAll(/\s+/g, ' ')]));
  const missing = promised.filter(([page, words]) => !texts.get(`docs/${page}.md`)?.includes(words));
  assert.deepEqual(missing, []);
});

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
