// Reads a file, or standard input where the file is called "-".
import { createReadStream } from 'node:fs';
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
