// `deskbell subscriptions import`: stores subscriptions from files of other programs. Invalid rows are reported and
// skipped. Known subscriptions are updated, so an interrupted import can be repeated.
import { type FileHandle, open } from 'node:fs/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { DeskbellError, type FieldError } from '../../errors/deskbell-error.ts';
import { countOf, formatCount } from '../../errors/format-count.ts';
import { createEndpointPolicy } from '../../protocol/endpoint-policy.ts';
import type { NewSubscription } from '../../store/subscriptions.ts';
import { withUnlisted } from '../../store/unlisted-push-services.ts';
import type { Context } from '../command.ts';
import { pick } from '../configuration/configuration.ts';
import { storeSettings } from '../configuration/read-configuration.ts';
import { createDataCommand } from '../data/data-command.ts';
import { createMemberOf, createMissedColumns, type Row } from '../input/column-names.ts';
import { knownEncoding, readInput } from '../input/read-input.ts';
import { findProvider, findRows, type GivenValue, readRows } from '../input/read-rows.ts';
import { readImportedRow } from '../input/subscription-line.ts';

interface RowFault {
  readonly line: number;
  readonly errors: readonly FieldError[];
}

/** The maximum number of different causes to print; the --refused file gets all rows. */
const maxCauses = 20;
const maxShown = 10;

/** A number of rows, with the first few as examples. */
interface Noted {
  count: number;
  readonly shown: string[];
}

class ImportReport {
  /** `updated` counts rows whose subscription was already stored, or was in an earlier row. */
  readonly counts = { imported: 0, updated: 0, refused: 0, leftOut: 0 };
  readonly #causes = new Map<string, Noted>();
  readonly #named = new Map<string, Noted>();
  readonly #facts = new Map<string, Noted>();

  /** @returns the line to print, or undefined if an earlier row had the same cause */
  refuse({ line, errors }: RowFault): string | undefined {
    this.counts.refused += 1;
    const text = errors
      .map(({ pointer, code, detail }) => `${pointer && `${pointer}: `}${detail} [${code}]`)
      .join('\n');
    // causes that differ only in numbers, such as a length, count as one
    const isNew = note(this.#causes, text.replaceAll(/\d+/g, '0'), String(line));
    return isNew && this.#causes.size <= maxCauses ? `line ${line}: ${text}` : undefined;
  }

  /** @param name `expired`; for a value that is not a row, a description of the value */
  leaveOut(name: string, line: number): void {
    this.counts.leftOut += 1;
    note(this.#named, `${name}, left out`, String(line));
  }

  /** Notes a row that was imported but needs attention. */
  remark(name: string, line: number): void {
    note(this.#named, name, String(line));
  }

  /** @param fact what was not understood, in the plural, such as `time zones` */
  leaveOutFact(fact: string, value: unknown): void {
    // the column may have another meaning and contain secrets, so show only harmless values
    const isShown =
      typeof value === 'string' && fact !== 'choices of channels' && /^[\p{L}\d/:., _+-]{1,20}$/u.test(value);
    note(this.#facts, fact, isShown ? value : undefined);
  }

  /** How many values were left out of imported rows, for each kind of value, such as `time zones`. */
  get factsLeftOut(): Readonly<Record<string, number>> {
    return Object.fromEntries(Array.from(this.#facts, ([fact, { count }]) => [fact, count]));
  }

  sentences(): readonly string[] {
    const causes = [...this.#causes.values()];
    const untold = causes.slice(maxCauses).reduce((sum, { count }) => sum + count, 0);
    return [
      ...causes
        .slice(0, maxCauses)
        .filter(({ count }) => count > 1)
        .map(
          ({ count, shown: [first, ...others] }) =>
            `The same as line ${first} in ${countOf(count - 1, 'more line')}: ${list(others, count - 1)}`,
        ),
      ...(untold > 0
        ? [`And ${countOf(untold, 'line')} for other reasons; --refused keeps all of them.`]
        : []),
      ...Array.from(
        this.#named,
        ([name, { count, shown }]) => `${formatCount(count)} × ${name}: line ${list(shown, count)}`,
      ),
      ...Array.from(
        this.#facts,
        ([fact, { count, shown }]) =>
          `${formatCount(count)} × ${fact} not understood, left out${shown.length > 0 ? `: ${list([...new Set(shown)], count)}` : ''}`,
      ),
    ];
  }
}

/** @returns true if this is the first note with this key */
function note(notes: Map<string, Noted>, key: string, example: string | undefined): boolean {
  const noted = notes.get(key) ?? { count: 0, shown: [] };
  notes.set(key, noted);
  noted.count += 1;
  if (example !== undefined && noted.shown.length <= maxShown) noted.shown.push(example);
  return noted.count === 1;
}

const list = (shown: readonly string[], count: number): string =>
  `${shown.slice(0, maxShown).join(', ')}${count > Math.min(shown.length, maxShown) ? ' …' : ''}`;

/** Number of rows per transaction. */
const batchSize = 1000;

/** Lengths at which database columns truncate text. */
const cutLengths: ReadonlySet<number> = new Set([191, 255, 256]);

interface Flags {
  readonly json?: true;
  readonly refused?: string;
  readonly userColumn?: string;
  readonly tagsColumn?: string;
  readonly ignoreColumn?: readonly string[];
  readonly skipExpired?: true;
  readonly encoding?: string;
}

export function importCommand({ environment, input, output, stop }: Context): Command {
  return createDataCommand(environment, {
    name: 'import',
    description:
      'Imports subscriptions from a JSON or CSV file. JSON rows can be in an array, on separate lines (JSON Lines) ' +
      'or nested in other objects. CSV needs a header line. Each row is {"endpoint", "keys": {"p256dh", "auth"}} or ' +
      '{"endpoint", "p256dh", "auth"}, or contains such an object. A row may also have "user", "tags", "language", ' +
      '"time_zone" and "created_at". "channels" may contain the reader’s choices, such as {"news": false}. If the ' +
      'subscription was made with another VAPID key pair, "vapidPublicKey" contains the public key. CSV columns ' +
      'have the same names as the fields of JSON rows. For most fields, the command also accepts other common ' +
      'names. The command ignores all unknown fields and columns. At the end, the command prints how many rows were ' +
      'imported, updated, refused and left out. A row counts as updated if its subscription was already stored, and ' +
      'as left out if its subscription is expired or missing. The exit code is 1 if a row is refused.',
    settings: ['pushServices', 'maxPushServices'],
    json: 'Prints JSON Lines: one line for each invalid row, then the counts.',
    examples: [
      'deskbell subscriptions import subscriptions.jsonl',
      'deskbell subscriptions import --refused refused.jsonl push_subscriptions.csv',
      'deskbell subscriptions import --user-column userId --tags-column topics users.json',
      'deskbell subscriptions import --encoding windows-1252 subscriptions.csv',
      'zcat old.jsonl.gz | deskbell subscriptions import -',
    ],
  })
    .argument('<file>', 'File to read; "-" is standard input.')
    .option(
      '--refused <file>',
      'Writes invalid rows to this new file, as JSON Lines with the reasons. The rows may contain secrets.',
    )
    .option('--user-column <name>', 'Column or field that contains the user. Default: user.')
    .option(
      '--tags-column <name>',
      'Column or field that contains the tags, as an array or as words separated by commas, semicolons or spaces. ' +
        'Default: tags.',
    )
    .option(
      '--ignore-column <name>',
      'Column or field to ignore, since its name means something else in this file. You can repeat this option.',
      (name: string, former: readonly string[] = []) => [...former, name],
    )
    .option('--skip-expired', 'Leaves out subscriptions whose "expirationTime" has passed.')
    .option(
      '--encoding <name>',
      'The file’s encoding, such as windows-1252 or shift_jis. Default: UTF-8, or UTF-16 if the file says so.',
      (name: string) => {
        if (knownEncoding(name) === undefined)
          throw new InvalidArgumentError(
            'It must be an encoding of the WHATWG standard, such as windows-1252.',
          );
        return name;
      },
    )
    .onData(async ({ store, vapidKeys, configuration }, file: string, flags: Flags) => {
      const { json, refused, userColumn, tagsColumn, ignoreColumn, skipExpired, encoding } = flags;
      const policy = createEndpointPolicy(configuration.pushServices);
      await storeSettings(pick(configuration, ['data', 'pushServices']), { replace: false });
      const columns = { user: userColumn, tags: tagsColumn };
      const memberOf = createMemberOf(columns, ignoreColumn);
      await using refusedFile = refused === undefined ? undefined : await openPrivate(refused);
      const report = new ImportReport();
      const missed = createMissedColumns(columns);
      const batch: NewSubscription[] = [];
      const flush = async (): Promise<void> => {
        const rows = batch.splice(0);
        const inserted = await store.subscriptions.putAll(rows);
        report.counts.imported += inserted;
        report.counts.updated += rows.length - inserted;
      };
      /** Unlisted push services that this import may use. */
      const admitted = new Set<string>();
      const admit = async ({ subscription }: NewSubscription): Promise<void> => {
        const { origin } = new URL(subscription.endpoint);
        if (admitted.has(origin) || !policy.isUnlisted(origin)) return;
        await withUnlisted(store, origin, configuration.maxPushServices, async () => admitted.add(origin));
      };

      const importRow = async (row: Row, line: number): Promise<void> => {
        const provider = findProvider(row);
        if (provider !== undefined) throw new DeskbellError('ERR_SUBSCRIPTION_INVALID', provider);
        const { expiresAtMs, leftOut, ...imported } = readImportedRow(
          row,
          policy,
          vapidKeys.publicKey,
          memberOf,
        );
        const isExpired = expiresAtMs !== undefined && expiresAtMs < store.now();
        if (isExpired && skipExpired) return report.leaveOut('expired', line);
        missed.note(row, imported);
        await admit(imported);
        for (const [fact, value] of leftOut) report.leaveOutFact(fact, value);
        if (isExpired) report.remark('expired; --skip-expired leaves them out', line);
        const { length } = imported.subscription.endpoint;
        if (cutLengths.has(length))
          report.remark(`an endpoint of exactly ${length} characters, which a column may have cut off`, line);
        if (batch.push(imported) === batchSize) await flush();
      };
      const refuse = async (error: unknown, line: number, text: string | undefined): Promise<void> => {
        if (!(error instanceof DeskbellError)) throw error;
        const { code, message, fields } = error;
        const fault: RowFault = {
          line,
          errors: fields.length > 0 ? fields : [{ pointer: '', code, detail: message }],
        };
        // one line, so that the row can be imported again: JSON has line breaks only between values
        const ofRow = text?.replaceAll(/\s*\n\s*/g, ' ');
        await refusedFile?.appendFile(`${JSON.stringify({ ...fault, text: ofRow })}\n`);
        const said = report.refuse(fault);
        if (json) await output.line(JSON.stringify(fault));
        else if (said !== undefined) output.diagnostic(said);
      };
      const importValue = async (value: GivenValue): Promise<void> => {
        const { number, text } = value;
        try {
          const given = value.read();
          for (const found of findRows(given, memberOf)) {
            if ('leftOut' in found) report.leaveOut(found.leftOut, number);
            else {
              const ofRow = () => (found.row === given ? text : JSON.stringify(found.row));
              await importRow(found.row, number).catch((error: unknown) => refuse(error, number, ofRow()));
            }
          }
        } catch (error) {
          await refuse(error, number, text);
        }
      };

      let failure: unknown;
      try {
        const chunks = readInput(file, { input, stop }, { encoding, hasFlag: true });
        for await (const value of readRows(chunks, memberOf)) await importValue(value);
      } catch (error) {
        failure = error;
      }
      // rows that were read before an error are stored too
      await flush();
      const { counts, factsLeftOut } = report;
      if (!failure || Object.values(counts).some((count) => count > 0)) {
        await output.result({ json }, { ...counts, factsLeftOut }, formatCounts(counts));
      }
      if (!json) for (const sentence of report.sentences()) output.diagnostic(sentence);
      for (const sentence of missed.sentences()) output.diagnostic(sentence);
      if (failure) throw failure;
      if (counts.refused > 0) {
        throw new DeskbellError(
          'ERR_LINES_REFUSED',
          `Not valid and not imported: ${countOf(counts.refused, 'line')}`,
        );
      }
    });
}

/** `Imported 3, updated 1, refused 0.` */
const formatCounts = ({ imported, updated, refused, leftOut }: ImportReport['counts']): string =>
  [
    `Imported ${imported}`,
    ...(updated > 0 ? [`updated ${updated}`] : []),
    `refused ${refused}`,
    ...(leftOut > 0 ? [`left out ${leftOut}`] : []),
  ].join(', ') + '.';

/** Creates a file that only its owner can read, because the file contains keys of subscriptions. */
async function openPrivate(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (cause) {
    throw new DeskbellError('ERR_FILE', `${path} cannot be made`, { cause });
  }
}
