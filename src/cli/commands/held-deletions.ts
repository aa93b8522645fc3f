// `deskbell held-deletions`: lists, confirms and discards the deletions that wait for an operator.
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { formatCount, isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import type { HeldDeletions } from '../../store/held-deletions.ts';
import { parseOrigin } from '../flags/arguments.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { dataSettings, withNamedData } from '../data/open-data.ts';

export function heldDeletionsCommand(context: Context): Command {
  return createCommand({
    name: 'held-deletions',
    description:
      'Lists, confirms and discards held deletions: subscriptions that a push service called gone while it accepted almost nothing.',
    examples: ['deskbell held-deletions list'],
  })
    .addCommand(listCommand(context))
    .addCommand(
      decisionCommand(context, {
        name: 'confirm',
        description: 'Deletes the held subscriptions of a push service.',
        done: 'Deleted',
        decide: (heldDeletions, origin) => heldDeletions.confirm(origin),
      }),
    )
    .addCommand(
      decisionCommand(context, {
        name: 'discard',
        description: 'Keeps the held subscriptions of a push service.',
        done: 'Kept',
        decide: (heldDeletions, origin) => heldDeletions.discard(origin),
      }),
    );
}

function listCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'list',
    description: 'Prints each push service with held deletions, how many there are, and since when.',
    settings: [...dataSettings],
    examples: ['deskbell held-deletions list', 'deskbell held-deletions list --json'],
  })
    .option('--json', 'Prints JSON Lines.')
    .action(async (flags: { readonly json?: true }) => {
      await withNamedData(flags, environment, async ({ store }) => {
        const origins = await store.heldDeletions.list();
        if (origins.length === 0 && !flags.json) output.diagnostic('No deletions are held.');
        for (const { origin, subscriptions, sinceMs } of origins) {
          const since = isoTime(sinceMs);
          await output.line(
            flags.json
              ? JSON.stringify({ origin, subscriptions, since })
              : `${origin}  ${formatCount(subscriptions)} since ${since}`,
          );
        }
      });
    });
}

interface Decision {
  readonly name: 'confirm' | 'discard';
  readonly description: string;
  readonly done: string;
  decide(heldDeletions: HeldDeletions, origin: string): Promise<number>;
}

function decisionCommand({ environment, output }: Context, decision: Decision): Command {
  const { name, description, done, decide } = decision;
  return createCommand({
    name,
    description,
    settings: [...dataSettings],
    examples: [`deskbell held-deletions ${name} https://fcm.googleapis.com`],
  })
    .argument('<origin>', 'Push service as `deskbell held-deletions list` shows it.', parseOrigin)
    .option('--json', 'Prints JSON.')
    .action(async (origin: string, flags: { readonly json?: true }) => {
      await withNamedData(flags, environment, async ({ store }) => {
        const subscriptions = await decide(store.heldDeletions, origin);
        if (subscriptions === 0) {
          throw new DeskbellError(
            'ERR_SUBSCRIPTION_NOT_FOUND',
            `No deletions are held for ${origin}; \`deskbell held-deletions list\` shows the push services that have some`,
          );
        }
        const count = formatCount(subscriptions);
        await output.line(
          flags.json
            ? JSON.stringify({ origin, [done.toLowerCase()]: subscriptions })
            : `${done} ${count} ${subscriptions === 1 ? 'subscription' : 'subscriptions'} of ${origin}`,
        );
      });
    });
}
