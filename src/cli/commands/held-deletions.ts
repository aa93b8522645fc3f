// `deskbell held-deletions`: lists, confirms and discards the deletions that wait for an operator.
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { formatCount, isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import type { HeldDeletions } from '../../store/held-deletions.ts';
import { parseOrigin } from '../flags/arguments.ts';
import { createCommand } from '../command.ts';
import { createDataCommand } from '../data/data-command.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';

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
  return createDataCommand(environment, {
    name: 'list',
    description: 'Prints each push service with held deletions, how many there are, and since when.',
    json: 'Prints JSON Lines.',
    examples: ['deskbell held-deletions list', 'deskbell held-deletions list --json'],
  }).onData(async ({ store }, flags: JsonFlag) => {
    await output.table(flags, {
      rows: await store.heldDeletions.list(),
      toJson: ({ origin, subscriptions, sinceMs }) => ({ origin, subscriptions, since: isoTime(sinceMs) }),
      toText: ({ origin, subscriptions, sinceMs }) =>
        `${origin}  ${formatCount(subscriptions)} since ${isoTime(sinceMs)}`,
      ifEmpty: 'No deletions are held.',
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
  return createDataCommand(environment, {
    name,
    description,
    json: 'Prints JSON.',
    examples: [`deskbell held-deletions ${name} https://fcm.googleapis.com`],
  })
    .argument('<origin>', 'Push service as `deskbell held-deletions list` shows it.', parseOrigin)
    .onData(async ({ store }, origin: string, flags: JsonFlag) => {
      const subscriptions = await decide(store.heldDeletions, origin);
      if (subscriptions === 0) {
        throw new DeskbellError(
          'ERR_SUBSCRIPTION_NOT_FOUND',
          `No deletions are held for ${origin}; \`deskbell held-deletions list\` shows the push services that have some`,
        );
      }
      const count = formatCount(subscriptions);
      await output.result(
        flags,
        { origin, [done.toLowerCase()]: subscriptions },
        `${done} ${count} ${subscriptions === 1 ? 'subscription' : 'subscriptions'} of ${origin}`,
      );
    });
}
