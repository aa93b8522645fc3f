// `deskbell subscriptions import`: JSON Lines into the store, any number of them. A line that is not valid is
// reported and does not lose the others; a line that is there already is brought up to date, so that an import
// that was cut short can simply be run again.
import { createReadStream } from 'node:fs';
import { addAbortSignal } from 'node:stream';
import type { Command } from 'commander';
import { DeskbellError, type FieldError } from '../../errors/deskbell-error.ts';
import type { DataDirectory } from '../../store/data-directory.ts';
import { createEndpointPolicy, type EndpointPolicy } from '../../webpush/endpoint-policy.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { withExistingData } from '../data.ts';
import { readConfiguration } from '../read-configuration.ts';
import { readLines, type Line } from '../read-lines.ts';
import { maxLineBytes, parseLine, type ImportedRow } from '../subscription-line.ts';

/** Rows per transaction. */
const batchSize = 1000;

interface Fault {
  readonly line: number;
  readonly errors: readonly FieldError[];
}

export function importCommand({ environment, input, output, stop }: Context): Command {
  return createCommand({
    name: 'import',
    description:
      'Reads JSON Lines: {"endpoint", "keys": {"p256dh", "auth"}} or {"endpoint", "p256dh", "auth"}, and where a row ' +
      'was made with another VAPID pair its "vapidPublicKey". Exits with 1 when a line was not valid.',
    settings: ['data', 'pushServices'],
    examples: [
      'deskbell subscriptions import subscriptions.jsonl',
      'zcat old.jsonl.gz | deskbell subscriptions import -',
    ],
  })
    .argument('<file>', 'File to read, "-" for standard input.')
    .option('--json', 'Prints JSON Lines: one for each line that was not valid, then the counts.')
    .action(async (file: string, flags: { readonly json?: true }) => {
      const { data, pushServices } = await readConfiguration({ flags: { ...flags }, environment });
      const policy = createEndpointPolicy(pushServices);
      await withExistingData(data, async (directory) => {
        let refused = 0;
        const report = async (fault: Fault): Promise<void> => {
          refused += 1;
          if (flags.json) await output.line(JSON.stringify(fault));
          else for (const line of describe(fault)) output.remark(line);
        };
        const chunks = addAbortSignal(stop, file === '-' ? input : createReadStream(file));
        const lines = readLines(chunks, { maxLineBytes });
        const { imported, failure } = await importLines(lines, directory, policy, report);
        if (!failure || imported > 0)
          await output.line(
            flags.json ? JSON.stringify({ imported, refused }) : `Imported ${imported}, refused ${refused}.`,
          );
        if (failure) throw stop.aborted ? stop.reason : cannotRead(file, failure);
        if (refused > 0) {
          throw new DeskbellError(
            'ERR_LINES_REFUSED',
            `${refused} of the lines were not valid and are not imported`,
          );
        }
      });
    });
}

/** Resolves to how many rows were stored, and to what ended the reading early; what was read until then is stored. */
async function importLines(
  lines: AsyncIterable<Line>,
  { store, vapidKeys }: DataDirectory,
  policy: EndpointPolicy,
  report: (fault: Fault) => Promise<void>,
): Promise<{ readonly imported: number; readonly failure?: Error }> {
  let imported = 0;
  let batch: ImportedRow[] = [];
  const flush = async (): Promise<void> => {
    await store.subscriptions.putAll(batch);
    imported += batch.length;
    batch = [];
  };
  const readRow = async ({ number, text }: Line): Promise<void> => {
    try {
      if (text === undefined) throw new DeskbellError('ERR_BODY_TOO_LARGE', tooLong);
      batch.push(parseLine(text, policy, vapidKeys.publicKey));
    } catch (error) {
      if (!(error instanceof DeskbellError)) throw error;
      const { code, message, fields } = error;
      const whole: FieldError = { pointer: '', code, detail: message };
      await report({ line: number, errors: fields.length > 0 ? fields : [whole] });
    }
  };

  let failure: Error | undefined;
  const iterator = lines[Symbol.asyncIterator]();
  for (;;) {
    const next = await iterator.next().catch((error: Error) => {
      failure = error;
    });
    if (!next || next.done) break;
    await readRow(next.value);
    if (batch.length === batchSize) await flush();
  }
  await flush();
  return failure ? { imported, failure } : { imported };
}

const tooLong = `the line is longer than ${maxLineBytes} bytes`;

const describe = ({ line, errors }: Fault): readonly string[] =>
  errors.map(({ pointer, code, detail }) => `line ${line}: ${pointer && `${pointer}: `}${detail} [${code}]`);

const cannotRead = (file: string, cause: Error): DeskbellError =>
  new DeskbellError('ERR_FILE', file === '-' ? 'Standard input cannot be read' : `${file} cannot be read`, {
    cause,
  });
