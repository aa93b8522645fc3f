// `deskbell subscriptions import`: stores subscriptions from JSON Lines. A line that is not valid is reported and
// skipped; a subscription that is stored already is updated, so that an interrupted import can be repeated.
import type { Command } from 'commander';
import { DeskbellError, type FieldError } from '../../errors/deskbell-error.ts';
import type { DataDirectory } from '../data-directory.ts';
import { createEndpointPolicy, type EndpointPolicy } from '../../protocol/endpoint-policy.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { withExistingData } from '../data.ts';
import { readConfiguration } from '../read-configuration.ts';
import { readInput } from '../read-input.ts';
import { readLines, type Line } from '../read-lines.ts';
import { maxLineBytes, parseLine, type ImportedRow } from '../subscription-line.ts';

/** Rows per transaction. */
const batchSize = 1000;

interface Counts {
  imported: number;
  refused: number;
}

interface Fault {
  readonly line: number;
  readonly errors: readonly FieldError[];
}

export function importCommand({ environment, input, output, stop }: Context): Command {
  return createCommand({
    name: 'import',
    description:
      'Imports subscriptions from JSON Lines. Each line is {"endpoint", "keys": {"p256dh", "auth"}} or {"endpoint", ' +
      '"p256dh", "auth"}, with "vapidPublicKey" if it was made with another VAPID key pair. The exit code is 1 if a ' +
      'line is not valid.',
    settings: ['data', 'pushServices'],
    examples: [
      'deskbell subscriptions import subscriptions.jsonl',
      'zcat old.jsonl.gz | deskbell subscriptions import -',
    ],
  })
    .argument('<file>', 'File to read; "-" is standard input.')
    .option('--json', 'Prints JSON Lines: one for each line that is not valid, then the counts.')
    .action(async (file: string, flags: { readonly json?: true }) => {
      const { data, pushServices } = await readConfiguration({ flags: { ...flags }, environment });
      const policy = createEndpointPolicy(pushServices);
      await withExistingData(data, async (directory) => {
        const counts: Counts = { imported: 0, refused: 0 };
        const lines = readLines(readInput(file, { input, stop }), { maxLineBytes });
        const report = flags.json
          ? (fault: Fault) => output.line(JSON.stringify(fault))
          : (fault: Fault) => output.diagnostic(describe(fault));
        let failure: unknown;
        await importLines(lines, directory, policy, counts, report).catch((error: unknown) => {
          failure = error;
        });
        if (!failure || counts.imported + counts.refused > 0) {
          await output.line(
            flags.json ? JSON.stringify(counts) : `Imported ${counts.imported}, refused ${counts.refused}.`,
          );
        }
        if (failure) throw failure;
        if (counts.refused > 0) {
          throw new DeskbellError(
            'ERR_LINES_REFUSED',
            `${counts.refused} of the lines were not valid and are not imported`,
          );
        }
      });
    });
}

/** Stores valid lines in batches. Lines that were read before an error are stored before it is thrown. */
async function importLines(
  lines: AsyncIterable<Line>,
  { store, vapidKeys }: DataDirectory,
  policy: EndpointPolicy,
  counts: Counts,
  report: (fault: Fault) => void | Promise<void>,
): Promise<void> {
  let batch: ImportedRow[] = [];
  const flush = async (): Promise<void> => {
    const rows = batch;
    batch = [];
    await store.subscriptions.putAll(rows);
    counts.imported += rows.length;
  };
  try {
    for await (const line of lines) {
      const result = readRow(line, policy, vapidKeys.publicKey);
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

function readRow({ number, text }: Line, policy: EndpointPolicy, publicKey: string): ImportedRow | Fault {
  try {
    if (text === undefined) throw new DeskbellError('ERR_BODY_TOO_LARGE', tooLong);
    return parseLine(text, policy, publicKey);
  } catch (error) {
    if (!(error instanceof DeskbellError)) throw error;
    const { code, message, fields } = error;
    return { line: number, errors: fields.length > 0 ? fields : [{ pointer: '', code, detail: message }] };
  }
}

const tooLong = `the line is longer than ${maxLineBytes} bytes`;

const describe = ({ line, errors }: Fault): string =>
  errors
    .map(({ pointer, code, detail }) => `line ${line}: ${pointer && `${pointer}: `}${detail} [${code}]`)
    .join('\n');
