// Reads files that commands are given: a small one as text, others as a stream, and standard input for "-".
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Context } from '../context.ts';

/** @throws {DeskbellError} ERR_FILE; the reason of `stop` once that is aborted */
export async function* readInput(
  file: string,
  { input, stop }: Pick<Context, 'input' | 'stop'>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* addAbortSignal(stop, file === '-' ? input : createReadStream(file));
  } catch (cause) {
    const name = file === '-' ? 'Standard input' : file;
    throw stop.aborted ? stop.reason : new DeskbellError('ERR_FILE', `${name} cannot be read`, { cause });
  }
}

/**
 * Reads a small text file.
 *
 * @param label what the file is called in an error
 * @throws {DeskbellError} ERR_FILE
 */
export async function readTextFile(path: string, label = path): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new DeskbellError('ERR_FILE', `${label} cannot be read`, { cause });
  }
}
