// Small files that nobody but their owner may read, written so that a crash leaves the old one or the new one,
// never half of one.
import { randomBytes } from 'node:crypto';
import { link, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DeskbellError } from '../errors/deskbell-error.ts';

const ownerOnly = 0o600;
const groupAndOthers = 0o077;

/**
 * Writes the file under a temporary name, syncs it, and gives it its name in one step.
 *
 * @param options `replace`: takes the place of a file that is there
 * @returns false where the file is there and may not be replaced: nothing was written
 * @throws {DeskbellError} ERR_FILE
 */
export async function writePrivateFile(
  path: string,
  text: string,
  options: { readonly replace: boolean },
): Promise<boolean> {
  try {
    return await writeWhole(path, text, options);
  } catch (cause) {
    throw new DeskbellError('ERR_FILE', `${path} cannot be written`, { cause });
  }
}

async function writeWhole(
  path: string,
  text: string,
  options: { readonly replace: boolean },
): Promise<boolean> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`);
  const file = await open(temporary, 'wx', ownerOnly);
  try {
    await file.writeFile(text);
    await file.sync();
    await file.close();
    if (options.replace) await rename(temporary, path);
    else if (!(await linkUnlessThere(temporary, path))) return false;
    await syncDirectory(dirname(path));
    return true;
  } finally {
    await file.close();
    await rm(temporary, { force: true });
  }
}

/**
 * Reads the file.
 *
 * @returns `undefined` where there is none
 * @throws {DeskbellError} ERR_KEY_FILE_EXPOSED where group or others could read it
 */
export async function readPrivateFile(path: string): Promise<string | undefined> {
  try {
    // file modes say nothing on Windows
    const { mode } = await stat(path);
    if ((mode & groupAndOthers) !== 0 && process.platform !== 'win32') throw exposed(path, mode);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** `link` fails where the name is taken, which `rename` does not: of two first runs at once, one writes. */
async function linkUnlessThere(temporary: string, path: string): Promise<boolean> {
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** The new name survives a power failure only when the folder itself is synced. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function exposed(path: string, mode: number): DeskbellError {
  const octal = (mode & 0o777).toString(8).padStart(4, '0');
  return new DeskbellError(
    'ERR_KEY_FILE_EXPOSED',
    `The key file ${path} has mode ${octal}, so that others on this machine can read it; it must be 0600.`,
  );
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
