// `deskbell subscriptions`: lists, shows, counts, tags, removes, imports and exports subscriptions.
import { type Command, Option } from 'commander';
import {
  type AudienceExpression,
  checkExpression,
  checkTags,
  checkUser,
} from '../../audience/user-and-tags.ts';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { countOf, formatCount } from '../../errors/format-count.ts';
import { formatDay, listLosses, lossMeanings, lossView } from '../../operations/losses.ts';
import { removePerson } from '../../operations/people.ts';
import { removePushService, removeSubscription, subscriptionView } from '../../operations/subscriptions.ts';
import { type Loss, type LossCount, type LossReason, lossReasons } from '../../store/losses.ts';
import type { RemovedPerson } from '../../store/remove-person.ts';
import type { Store } from '../../store/store.ts';
import type { StoredSubscription, SubscriptionStore } from '../../store/subscriptions.ts';
import type { PushServiceVisits } from '../../store/visits.ts';
import { type CommandDescription, type Context, createCommand } from '../command.ts';
import { dataSettings } from '../configuration/configuration.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import { audited, createDataCommand, createListCommand, perform, processUser } from '../data/data-command.ts';
import { withExistingData } from '../data/open-data.ts';
import {
  addPeopleFlags,
  expressionOf,
  parseIds,
  parseOrigin,
  parsePositiveInteger,
  parseTags,
  type PeopleFlags,
} from '../flags/arguments.ts';
import { formatLine } from '../input/subscription-line.ts';
import { inColumns, type JsonFlag } from '../output/output.ts';
import { importCommand } from './subscriptions-import.ts';
import { showCommand } from './subscriptions-show.ts';

const rowsPerPage = 1000;

/**
 * Yields subscriptions in pages, ordered by id, including rows that are added meanwhile. Throws `stop.reason` if `stop`
 * is aborted.
 *
 * @param matching result of `checkExpression`. Default: all
 */
async function* subscriptionPages(
  subscriptions: SubscriptionStore,
  stop: AbortSignal,
  matching?: AudienceExpression,
): AsyncGenerator<readonly StoredSubscription[]> {
  let afterId = 0;
  for (;;) {
    stop.throwIfAborted();
    const page = await subscriptions.page({ afterId, limit: rowsPerPage, matching });
    const last = page.at(-1);
    if (!last) return;
    yield page;
    afterId = last.id;
  }
}

function listCommand({ environment, output, stopPrinting }: Context): Command {
  const command = createDataCommand(environment, {
    name: 'list',
    description:
      'Prints each subscription with its ID, push service, user and tags, and with the times at which it was ' +
      'registered and renewed. Endpoints and keys are not shown.',
    json: 'Prints JSON Lines.',
    examples: [
      'deskbell subscriptions list',
      'deskbell subscriptions list --user 42',
      'deskbell subscriptions list --tag beta --not-tag de --json | jq .pushService',
    ],
  });
  return addPeopleFlags(command, 'Lists').onData(async ({ store }, flags: PeopleFlags & JsonFlag) => {
    const expression = expressionOf(flags);
    const matching = expression && checkExpression(expression);
    await output.table(flags, {
      rows: rowsOf(subscriptionPages(store.subscriptions, stopPrinting, matching)),
      toJson: subscriptionView.toJson,
      ...columns,
      ifEmpty: matching ? 'No such subscriptions.' : 'No subscriptions yet.',
    });
  });
}

async function* rowsOf<Row>(pages: AsyncIterable<readonly Row[]>): AsyncGenerator<Row> {
  for await (const page of pages) yield* page;
}

const toTime = (timeMs: number): string => isoTime(timeMs).replace(/\.\d+Z$/, 'Z');

const columns = inColumns<StoredSubscription>([
  ['ID', -8, ({ id }) => String(id)],
  ['REGISTERED', 20, ({ createdAtMs }) => toTime(createdAtMs)],
  ['RENEWED', 20, ({ updatedAtMs }) => toTime(updatedAtMs)],
  ['PUSH SERVICE', 40, ({ endpoint }) => new URL(endpoint).origin],
  ['USER', 12, ({ user = '-' }) => user],
  ['TAGS', 0, ({ tags }) => tags.join(',')],
]);

interface LostFlags extends JsonFlag {
  readonly list?: true;
  readonly reason?: LossReason;
  readonly limit: number;
}

function lostCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'lost',
    description:
      'Prints how many subscriptions were lost in the last 90 days, by day, push service and reason. The reasons are ' +
      `${lossReasons.map((reason) => `"${reason}" (${lossMeanings[reason]})`).join(', ')}. ` +
      'With --list, the command prints each lost subscription.',
    json: 'Prints JSON Lines.',
    examples: ['deskbell subscriptions lost', 'deskbell subscriptions lost --list --reason removed'],
  })
    .option('--list', 'Prints each lost subscription, newest first.')
    .addOption(
      new Option('--reason <reason>', 'Selects subscriptions that were lost for this reason.').choices(
        lossReasons,
      ),
    )
    .option('--limit <count>', 'Maximum rows.', parsePositiveInteger, 1000)
    .onData(async ({ store: { losses } }, { list, reason, limit, ...flags }: LostFlags) => {
      const ifEmpty = 'No subscription was lost.';
      if (list) {
        const rows = await losses.list({ reason, limit });
        return output.table(flags, { rows, toJson: lossView.toJson, ...lossColumns, ifEmpty });
      }
      const counts = await losses.countByDay();
      const rows = counts.filter((count) => reason === undefined || count.reason === reason).slice(0, limit);
      return output.table(flags, { rows, toJson: listLosses.view.toJson, ...lossCountColumns, ifEmpty });
    });
}

const lossColumns = inColumns<Loss>([
  ['ID', -8, ({ subscriptionId = '-' }) => String(subscriptionId)],
  ['LOST', 20, ({ atMs }) => toTime(atMs)],
  ['REASON', 12, ({ reason }) => reason],
  ['BY', 12, ({ removedBy = '-' }) => removedBy],
  ['USER', 12, ({ user = '-' }) => user],
  ['PUSH SERVICE', 0, ({ origin }) => origin],
]);

const lossCountColumns = inColumns<LossCount>([
  ['DAY', 10, ({ startMs }) => formatDay(startMs)],
  ['SUBSCRIPTIONS', -13, ({ subscriptions }) => formatCount(subscriptions)],
  ['REASON', 12, ({ reason }) => reason],
  ['PUSH SERVICE', 0, ({ origin }) => origin],
]);

interface TagFlags extends PeopleFlags, JsonFlag {
  readonly ids?: readonly number[];
}

const tagCommand = (context: Context): Command =>
  createTagCommand(context, 'Tags', 'add', {
    name: 'tag',
    description: 'Adds tags to subscriptions.',
    examples: ['deskbell subscriptions tag beta,de --user 42', 'deskbell subscriptions tag news --ids 17,18'],
  });

const untagCommand = (context: Context): Command =>
  createTagCommand(context, 'Untags', 'remove', {
    name: 'untag',
    description: 'Removes tags from subscriptions.',
    examples: ['deskbell subscriptions untag beta --user 42', 'deskbell subscriptions untag beta --tag beta'],
  });

/** @param verb the verb that begins the description of each flag */
function createTagCommand(
  { environment, output, stop }: Context,
  verb: string,
  change: 'add' | 'remove',
  { name, ...description }: CommandDescription,
): Command {
  const command = createDataCommand(environment, {
    name,
    ...description,
    json: 'Prints {"subscriptions"}, the number of subscriptions.',
  }).argument('<tags>', 'Tags, separated by commas.', parseTags);
  return addPeopleFlags(command, verb, ['ids'])
    .option('--ids <ids>', `${verb} the subscriptions with these IDs, separated by commas.`, parseIds)
    .onData(async ({ store }, given: readonly string[], flags: TagFlags) => {
      const tags = checkTags(given, '/tags');
      const chosen = chosenBy(flags, store, stop);
      const record = {
        operator: processUser(),
        action: `subscriptions.${name}`,
        target: `tags ${tags.join(', ')}`,
      };
      const subscriptions = await audited(store, record, async () => {
        let changed = 0;
        for await (const page of chosen) {
          // the store commits changes together if they are requested in the same turn of the event loop
          const found = await Promise.all(
            page.map(({ id }) => store.people.changeTags(id, { [change]: tags })),
          );
          changed += found.filter(Boolean).length;
        }
        return changed;
      });
      await output.result(flags, { subscriptions }, `Changed ${countOf(subscriptions, 'subscription')}.`);
      if (subscriptions === 0) {
        throw new DeskbellError('ERR_SUBSCRIPTION_NOT_FOUND', 'There is no such subscription');
      }
    });
}

type Pages = AsyncIterable<readonly { readonly id: number }[]> | Iterable<readonly { readonly id: number }[]>;

/** @throws {DeskbellError} ERR_USAGE */
function chosenBy(flags: TagFlags, { subscriptions }: Store, stop: AbortSignal): Pages {
  const expression = expressionOf(flags);
  if (flags.ids !== undefined) return [flags.ids.map((id) => ({ id }))];
  if (expression === undefined) {
    throw new DeskbellError(
      'ERR_USAGE',
      'Choose the subscriptions: --user, --tag, --any-tag, --not-tag or --ids',
    );
  }
  return subscriptionPages(subscriptions, stop, checkExpression(expression));
}

function exportCommand({ environment, output, stopPrinting }: Context): Command {
  return createDataCommand(environment, {
    name: 'export',
    description:
      'Prints every subscription as JSON Lines, in the form that browsers and other web push tools use. Each line ' +
      'contains the language, time zone and choices that apply to the reader. Keep the output secret: anyone who ' +
      'has both the output and your private key can send messages to your subscribers.',
    examples: ['(umask 077; deskbell subscriptions export > subscriptions.jsonl)'],
  }).onData(async ({ store }) => {
    for await (const page of subscriptionPages(store.subscriptions, stopPrinting)) {
      const facts = await store.readers.factsOf(page);
      await output.line(page.map((row) => formatLine(row, facts.get(row.id))).join('\n'));
    }
  });
}

const visitColumns = inColumns<PushServiceVisits>([
  ['7 DAYS', -10, ({ visits }) => String(visits.within7Days)],
  ['30 DAYS', -10, ({ visits }) => String(visits.within30Days)],
  ['90 DAYS', -10, ({ visits }) => String(visits.within90Days)],
  ['LONGER AGO', -10, ({ visits }) => String(visits.longerAgo)],
  ['NOT SINCE IMPORT', -16, ({ visits }) => String(visits.notSinceImport)],
  ['PUSH SERVICE', 0, ({ pushService }) => pushService],
]);

const visitsCommand = (context: Context): Command =>
  createListCommand(context, {
    name: 'visits',
    description:
      'For each push service, counts the subscriptions by when their browser last visited your site. A ' +
      'visit is a page load with Deskbell’s client. Use this command to see the progress of a move from another ' +
      'service. Imported subscriptions are counted separately until their browser visits the site.',
    examples: ['deskbell subscriptions visits', 'deskbell subscriptions visits --json'],
    rowsOf: ({ store }) => store.visits.count(),
    ...visitColumns,
    toJson: ({ pushService, visits }) => ({ pushService, ...visits }),
    ifEmpty: 'No subscriptions yet.',
  });

export function subscriptionsCommand(context: Context): Command {
  return createCommand({
    name: 'subscriptions',
    description: 'Lists, shows, counts, tags, removes, imports and exports subscriptions.',
    examples: ['deskbell subscriptions list', 'deskbell subscriptions show --user 42 --broadcast 7'],
  })
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(visitsCommand(context))
    .addCommand(lostCommand(context))
    .addCommand(tagCommand(context))
    .addCommand(untagCommand(context))
    .addCommand(removeCommand(context))
    .addCommand(importCommand(context))
    .addCommand(exportCommand(context));
}

function removeCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'remove',
    description:
      'Removes subscriptions. If a browser is still subscribed, it registers again when somebody next opens your ' +
      'page in it. With --user, the command removes all data of a person from the database, including the outcomes ' +
      'of broadcasts, and prints what it has removed. The command does not remove data from backups and logs. With ' +
      '--push-service, the command removes all subscriptions of a host, for example a host that a stranger has ' +
      'registered. The host then no longer counts as an unlisted push service.',
    settings: dataSettings,
    json: 'Prints JSON Lines.',
    examples: [
      'deskbell subscriptions remove 17 18 19',
      'deskbell subscriptions remove --user 42',
      'deskbell subscriptions remove --push-service up.example.net',
    ],
  })
    .argument('[id...]', 'IDs as `deskbell subscriptions list` shows them.', parseId)
    .option('--user <id>', 'Removes this person.')
    .option(
      '--push-service <host>',
      'Removes all subscriptions of this push service: a host, with its port if it has one, or an origin.',
      (text) =>
        parseOrigin(
          text.includes('://') ? text : `https://${text}`,
          'a host, such as up.example.net, or an origin',
        ),
    )
    .action(async (ids: readonly number[], flags: RemoveFlags) => {
      const user = flags.user === undefined ? undefined : checkUser(flags.user, '/user');
      const { pushService: origin } = flags;
      if ([user, origin, ids[0]].filter((given) => given !== undefined).length !== 1) {
        throw new DeskbellError('ERR_USAGE', 'Give the IDs of subscriptions, --user or --push-service');
      }
      const configuration = await readConfiguration({ flags, environment });
      await withExistingData(configuration, async (data) => {
        if (user !== undefined) {
          const removed = await perform(data, removePerson, { user });
          return output.result(
            flags,
            { user, ...removed },
            `${formatRemoved(removed)}\nReceipt: ${removed.removalReceipt}. Keep it with the person's name: "deskbell people removal ID --receipt …" checks it.`,
          );
        }
        if (origin !== undefined) {
          const removed = await perform(data, removePushService, { origin });
          return output.result(
            flags,
            { pushService: origin, removed },
            `Removed ${countOf(removed, 'subscription')} of ${origin}`,
          );
        }
        const missing: number[] = [];
        for (const id of ids) {
          const isRemoved = await perform(data, removeSubscription, { id }).then(
            () => true,
            (error: unknown) => {
              if (error instanceof DeskbellError && error.code === 'ERR_SUBSCRIPTION_NOT_FOUND') return false;
              throw error;
            },
          );
          if (!isRemoved) missing.push(id);
          if (flags.json) await output.line(JSON.stringify({ id, removed: isRemoved }));
          else if (isRemoved) await output.line(`Removed ${id}`);
        }
        if (missing.length > 0) {
          throw new DeskbellError(
            'ERR_SUBSCRIPTION_NOT_FOUND',
            `There is no subscription ${missing.join(', ')}`,
          );
        }
      });
    });
}

interface RemoveFlags extends JsonFlag {
  readonly user?: string;
  readonly pushService?: string;
}

export function formatRemoved({
  subscriptions,
  ended,
  broadcasts,
  schedules,
  bells,
  recipients,
  attempts,
  receipts,
}: RemovedPerson): string {
  const counts = [
    [subscriptions, 'subscription', ''],
    [ended, 'subscription', ' that had ended'],
    [attempts, 'attempt', ''],
    [receipts, 'receipt', ''],
    [recipients, 'place', ' in lists of recipients'],
    [broadcasts, 'broadcast', ' to this person alone'],
    [schedules, 'schedule', ' for this person alone'],
    [bells, 'bell', ' for this person alone'],
  ] as const;
  const lines = counts.map(
    ([count, one, rest]) => `${String(count).padStart(8)}  ${one}${count === 1 ? '' : 's'}${rest}`,
  );
  return `Removed:\n${lines.join('\n')}\nBackups of the database, exported files and logs may still name the person.`;
}

/** Commander calls this for each argument, and passes the results for the earlier arguments. */
function parseId(text: string, earlier: readonly number[] = []): readonly number[] {
  return [...earlier, parsePositiveInteger(text)];
}
