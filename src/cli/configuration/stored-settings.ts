// Settings that `serve` keeps in the data directory, so that other commands need not be given them again. They hold where flags,
// environment and configuration file say nothing.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writePrivateFile } from '../../keys/private-file.ts';
import type { Configuration, SettingName } from './configuration.ts';

const storedSettings = ['publicUrl'] as const satisfies readonly SettingName[];

/** A configuration file, in a data directory. */
export const storedSettingsPath = (directory: string): string => join(directory, 'settings.json');

/** @throws {DeskbellError} ERR_FILE, ERR_DATA_EXPOSED, ERR_DATA_OWNER */
export async function storeSettings(configuration: Configuration): Promise<void> {
  const entries = storedSettings.flatMap((name) => {
    const value = configuration[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const path = storedSettingsPath(configuration.data);
  const text = `${JSON.stringify(Object.fromEntries(entries), undefined, 2)}\n`;
  const stored = await readFile(path, 'utf8').catch(() => undefined);
  if (text === stored || (entries.length === 0 && stored === undefined)) return;
  await writePrivateFile(path, text, { replace: true });
}
