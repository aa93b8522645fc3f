// Reads files that commands are given: a small one as text, others as a stream, and standard input for "-". They are UTF-8.
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
  const name = file === '-' ? 'Standard input' : file;
  try {
    let start = Buffer.alloc(0);
    for await (const chunk of addAbortSignal(stop, file === '-' ? input : createReadStream(file))) {
      if (start.length < shownBytes) {
        start = Buffer.concat([start, chunk.subarray(0, shownBytes - start.length)]);
        assertUtf8(start, name);
      }
      yield chunk;
    }
  } catch (cause) {
    if (cause instanceof DeskbellError) throw cause;
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
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new DeskbellError('ERR_FILE', `${label} cannot be read`, { cause });
  });
  assertUtf8(bytes.subarray(0, shownBytes), label);
  // removes a byte order mark too
  return new TextDecoder().decode(bytes);
}

/** So many bytes show UTF-16: its byte order mark, or two characters of ASCII. */
const shownBytes = 4;

/** Excel and PowerShell write UTF-16 as "Unicode". */
function assertUtf8(start: Buffer, label: string): void {
  const hex = start.toString('hex');
  if (!/^(fffe|feff|00(?!00)..00(?!00)|(?!00)..00(?!00)..00)/.test(hex)) return;
  throw new DeskbellError('ERR_FILE', `${label} is a text in UTF-16`, {
    remedy: 'Save it as UTF-8, which Excel calls "CSV UTF-8".',
  });
}
