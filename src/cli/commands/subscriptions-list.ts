// `deskbell subscriptions list`: one line per subscription, without endpoint and keys.
import type { Command } from 'commander';
import type { StoredSubscription } from '../../store/subscriptions.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { withNamedData } from '../data.ts';
import { subscriptionPages } from '../subscription-pages.ts';

export function listCommand({ environment, output, stop }: Context): Command {
  return createCommand({
    name: 'list',
    description: 'Prints ID, push service and times of each subscription. Endpoints and keys are not shown.',
    settings: ['data'],
    examples: ['deskbell subscriptions list', 'deskbell subscriptions list --json | jq .pushService'],
  })
    .option('--json', 'Prints JSON Lines.')
    .action(async (flags: { readonly json?: true }) => {
      await withNamedData(flags, environment, async ({ store }) => {
        const format = flags.json ? formatJson : formatColumns;
        let count = 0;
        for await (const page of subscriptionPages(store.subscriptions, stop)) {
          if (count === 0 && !flags.json) {
            await output.line(output.style('dim', columns('ID', 'REGISTERED', 'RENEWED', 'PUSH SERVICE')));
          }
          count += page.length;
          await output.line(page.map(format).join('\n'));
        }
        if (count === 0 && !flags.json) output.diagnostic('No subscriptions yet.');
      });
    });
}

const pushServiceOf = ({ endpoint }: StoredSubscription): string => new URL(endpoint).origin;

function formatJson(row: StoredSubscription): string {
  return JSON.stringify({
    id: row.id,
    pushService: pushServiceOf(row),
    vapidPublicKey: row.vapidPublicKey,
    user: row.user,
    tags: row.tags,
    createdAt: new Date(row.createdAtMs).toISOString(),
    updatedAt: new Date(row.updatedAtMs).toISOString(),
  });
}

function formatColumns(row: StoredSubscription): string {
  return columns(
    String(row.id),
    formatTime(row.createdAtMs),
    formatTime(row.updatedAtMs),
    pushServiceOf(row),
  );
}

function columns(id: string, createdAt: string, updatedAt: string, pushService: string): string {
  return `${id.padStart(8)}  ${createdAt.padEnd(20)}  ${updatedAt.padEnd(20)}  ${pushService}`;
}

const formatTime = (timeMs: number): string => new Date(timeMs).toISOString().replace(/\.\d+Z$/, 'Z');
