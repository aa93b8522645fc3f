// A small text file that the configuration names.
import { readFile } from 'node:fs/promises';
import { DeskbellError } from '../../errors/deskbell-error.ts';

/**
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
