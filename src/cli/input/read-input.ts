// Reads files that commands are given, and standard input for "-".
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { text as toText } from 'node:stream/consumers';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Context } from '../context.ts';
import { decodeText, type DecodeOptions } from './decode-text.ts';

type Sources = Pick<Context, 'input' | 'stop'>;

const labelOf = (file: string): string => (file === '-' ? 'Standard input' : file);

/** @throws {DeskbellError} ERR_FILE; the reason of `stop` once that is aborted */
export async function* readBytes(file: string, { input, stop }: Sources): AsyncGenerator<Uint8Array> {
  try {
    yield* addAbortSignal(stop, file === '-' ? input : createReadStream(file)) as AsyncIterable<Buffer>;
  } catch (cause) {
    throw stop.aborted
      ? stop.reason
      : new DeskbellError('ERR_FILE', `${labelOf(file)} cannot be read`, { cause });
  }
}

/** The text of a file, in pieces. @throws {DeskbellError} as `readBytes` and `decodeText` do */
export const readInput = (
  file: string,
  sources: Sources,
  options: Omit<DecodeOptions, 'label'> = {},
): AsyncGenerator<string> => decodeText(readBytes(file, sources), { label: labelOf(file), ...options });

/**
 * Reads a small text file.
 *
 * @param label what the file is called in an error
 * @throws {DeskbellError} ERR_FILE
 */
export async function readTextFile(path: string, label = path): Promise<string> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new DeskbellError('ERR_FILE', `${label} cannot be read`, { cause });
  });
  return toText(decodeText([bytes], { label }));
}
