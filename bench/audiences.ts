// Audiences by user and tags over a million subscriptions: how long it takes to prepare one, what memory it takes, and how
// long another process that registers subscriptions meanwhile waits for its turn.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AudienceExpression } from '../src/audience/user-and-tags.ts';
import { measureAudience } from './audiences/measure-audience.ts';
import { seedPeople, tagShares } from './audiences/seed-people.ts';
import { printTable } from './measure/table.ts';

const expressions: readonly AudienceExpression[] = [
  { user: 'person17' },
  { tags: { all: ['some'] } },
  { tags: { all: ['everyone', 'some'] } },
  { tags: { all: ['everyone'] } },
  { tags: { any: ['half', 'some'], none: ['third'] } },
];

export async function bench({ quick }: { readonly quick: boolean }): Promise<void> {
  const rows = quick ? 100_000 : 1_000_000;
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-audiences-'));
  const path = join(folder, 'deskbell.db');
  try {
    await seedPeople(path, rows);
    const results = [];
    for (const expression of expressions) results.push(await measureAudience(path, expression));
    printTable(`Audiences of ${rows.toLocaleString('en')} subscriptions`, [
      [
        'expression',
        'members',
        'seconds',
        'CPU seconds',
        'memory, start → most',
        'other writers',
        'waited at most',
      ],
      ...results.map(({ expression, written, waits }) => [
        JSON.stringify(expression),
        written.members.toLocaleString('en'),
        written.seconds.toFixed(2),
        written.cpuSeconds.toFixed(2),
        `${written.startMegabytes.toFixed(0)} → ${written.mostMegabytes.toFixed(0)} MB`,
        `${waits.writes} writes`,
        `${waits.longestMs.toFixed(0)} ms`,
      ]),
    ]);
    console.log(`Of all subscriptions have the tag: ${JSON.stringify(tagShares)}\n`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
