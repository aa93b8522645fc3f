// `deskbell subscriptions import`: stores subscriptions from JSON Lines, a JSON array or CSV. A row that is not valid is
// reported and skipped; a subscription that is stored already is updated, so that an interrupted import can be repeated.
import { open, type FileHandle } from 'node:fs/promises';
import type { Command } from 'commander';
import { DeskbellError, type FieldError } from '../../errors/deskbell-error.ts';
import { countOf } from '../../errors/format-count.ts';
import type { NewSubscription, SubscriptionStore } from '../../store/subscriptions.ts';
import { withUnlisted } from '../../store/unlisted-push-services.ts';
import { createEndpointPolicy } from '../../protocol/endpoint-policy.ts';
import { createCommand } from '../command.ts';
import { dataSettings, pick } from '../configuration/configuration.ts';
import type { Context } from '../context.ts';
import { withExistingData } from '../data/open-data.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import { storeSettings } from '../configuration/stored-settings.ts';
import { createMissedColumns } from '../input/missed-columns.ts';
import { readInput } from '../input/read-input.ts';
import type { Line } from '../input/read-lines.ts';
import { readRows } from '../input/read-rows.ts';
import { createMemberOf, defaultColumns, type ColumnNames } from '../input/member-names.ts';
import { maxLineBytes, parseRow, readImportedRow } from '../input/subscription-line.ts';

/** Rows per transaction. */
const batchSize = 1000;

/** So many lines that are not valid are printed for people; --refused has all. */
const maxShown = 20;

interface Counts {
  imported: number;
  refused: number;
}

interface Fault {
  readonly line: number;
  readonly errors: readonly FieldError[];
}

/** A fault with the row itself, as JSON; without it for one that is too long. */
interface Refused extends Fault {
  readonly text: string | undefined;
}

interface Flags {
  readonly json?: true;
  readonly refused?: string;
  readonly userColumn?: string;
  readonly tagsColumn?: string;
}

export function importCommand({ environment, input, output, stop }: Context): Command {
  return createCommand({
    name: 'import',
    description:
      'Imports subscriptions from JSON Lines, a JSON array, or CSV with a header. Each row is {"endpoint", "keys": ' +
      '{"p256dh", "auth"}} or {"endpoint", "p256dh", "auth"}, or has one in its member "subscription" or "sub"; with ' +
      '"vapidPublicKey" if it was made with another VAPID key pair, "user", "tags", "language", "time_zone", "channels" (choices: {"news": false}) and "created_at". Columns of CSV have ' +
      'the same names; further ones are known, and others are ignored. The exit code is 1 if a row is not valid.',
    settings: [...dataSettings, 'pushServices', 'maxPushServices'],
    json: 'Prints JSON Lines: one for each row that is not valid, then the counts.',
    examples: [
      'deskbell subscriptions import subscriptions.jsonl',
      'deskbell subscriptions import --refused refused.jsonl push_subscriptions.csv',
      'deskbell subscriptions import --user-column userId --tags-column topics users.json',
      'zcat old.jsonl.gz | deskbell subscriptions import -',
    ],
  })
    .argument('<file>', 'File to read; "-" is standard input.')
    .option(
      '--refused <file>',
      'Writes rows that are not valid to this new file, as JSON Lines with the reasons. They may hold secrets.',
    )
    .option('--user-column <name>', 'Column or member that holds the user. Default: user.')
    .option(
      '--tags-column <name>',
      'Column or member that holds the tags, as an array or as words separated by commas, semicolons or spaces. ' +
        'Default: tags.',
    )
    .action(async (file: string, { json, refused, userColumn, tagsColumn, ...flags }: Flags) => {
      const configuration = await readConfiguration({ flags, environment });
      const policy = createEndpointPolicy(configuration.pushServices);
      await withExistingData(configuration, async ({ store, vapidKeys }) => {
        await storeSettings(pick(configuration, ['data', 'pushServices']), { replace: false });
        const counts: Counts = { imported: 0, refused: 0 };
        const columns: ColumnNames = {
          user: userColumn ?? defaultColumns.user,
          tags: tagsColumn ?? defaultColumns.tags,
        };
        const memberOf = createMemberOf(columns);
        const lines = readRows(readInput(file, { input, stop }), { maxLineBytes, memberOf });
        await using refusedFile = refused === undefined ? undefined : await openPrivate(refused);
        let isBinary = false;
        const report = async ({ text, ...fault }: Refused): Promise<void> => {
          // as one line, to be imported again: no string of JSON has a line break in it
          const row = text?.replaceAll(/\s*\n\s*/g, ' ');
          await refusedFile?.appendFile(`${JSON.stringify({ ...fault, text: row })}\n`);
          isBinary ||= text?.includes('\0') ?? false;
          if (json) await output.line(JSON.stringify(fault));
          else if (counts.refused <= maxShown) output.diagnostic(describe(fault));
        };
        let failure: unknown;
        const missed = createMissedColumns({ user: userColumn, tags: tagsColumn });
        /** Counts its push service where nobody has listed it; asked once for each. */
        const admitted = new Set<string>();
        const admit = async ({ subscription }: NewSubscription): Promise<void> => {
          const { origin } = new URL(subscription.endpoint);
          if (admitted.has(origin) || !policy.isUnlisted(origin)) return;
          await withUnlisted(store, origin, configuration.maxPushServices, async () => admitted.add(origin));
        };
        const parse = async ({ text }: Line): Promise<NewSubscription> => {
          const row = parseRow(text, ', and the first line does not name the columns of a table');
          const imported = readImportedRow(row, policy, vapidKeys.publicKey, memberOf);
          missed.note(row, imported);
          await admit(imported);
          return imported;
        };
        await importLines(lines, parse, store.subscriptions, counts, report).catch((error: unknown) => {
          failure = error;
        });
        if (!json && counts.refused > maxShown)
          output.diagnostic(
            `And ${countOf(counts.refused - maxShown, 'more line')}; --refused keeps all of them.`,
          );
        if (!failure || counts.imported + counts.refused > 0) {
          await output.result({ json }, counts, `Imported ${counts.imported}, refused ${counts.refused}.`);
        }
        for (const sentence of missed.sentences()) output.diagnostic(sentence);
        if (failure) throw failure;
        if (counts.refused > 0) {
          throw new DeskbellError(
            'ERR_LINES_REFUSED',
            `Not valid and not imported: ${countOf(counts.refused, 'line')}${isBinary ? '. The input looks like no text' : ''}`,
          );
        }
      });
    });
}

/** Stores valid lines in batches. Lines that were read before an error are stored before it is thrown. */
async function importLines(
  lines: AsyncIterable<Line>,
  parse: (line: Line) => Promise<NewSubscription>,
  subscriptions: SubscriptionStore,
  counts: Counts,
  report: (refused: Refused) => Promise<void>,
): Promise<void> {
  let batch: NewSubscription[] = [];
  const flush = async (): Promise<void> => {
    const rows = batch;
    batch = [];
    await subscriptions.putAll(rows);
    counts.imported += rows.length;
  };
  try {
    for await (const line of lines) {
      const result = await readRow(line, parse);
      if ('errors' in result) {
        counts.refused += 1;
        await report(result);
      } else if (batch.push(result) === batchSize) {
        await flush();
      }
    }
  } finally {
    await flush();
  }
}

async function readRow(
  line: Line,
  parse: (line: Line) => Promise<NewSubscription>,
): Promise<NewSubscription | Refused> {
  try {
    return await parse(line);
  } catch (error) {
    if (!(error instanceof DeskbellError)) throw error;
    const { code, message, fields } = error;
    const errors = fields.length > 0 ? fields : [{ pointer: '', code, detail: message }];
    return { line: line.number, errors, text: line.text };
  }
}

/** A new file that only its owner may read: keys of subscriptions go into it. */
async function openPrivate(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (cause) {
    throw new DeskbellError('ERR_FILE', `${path} cannot be made`, { cause });
  }
}

const describe = ({ line, errors }: Fault): string =>
  errors
    .map(({ pointer, code, detail }) => `line ${line}: ${pointer && `${pointer}: `}${detail} [${code}]`)
    .join('\n');
