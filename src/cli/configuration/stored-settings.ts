// Settings stored in the data directory, so that other commands need not repeat them. They apply if flags, environment and configuration
// file say nothing.
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { writePrivateFile } from '../../keys/private-file.ts';
import { isLocal, parsePublicUrl } from './addresses.ts';
import type { Configuration, SettingName } from './configuration.ts';

const storedSettings = [
  'publicUrl',
  'bellsUrl',
  'subject',
  'pushServices',
] as const satisfies readonly SettingName[];

export const storedSettingsPath = (directory: string): string => join(directory, 'settings.json');

/**
 * Stores the given settings.
 *
 * @param options `replace`: overwrite stored values; otherwise stored values stay
 * @throws {DeskbellError} ERR_FILE, ERR_DATA_EXPOSED, ERR_DATA_OWNER
 */
export async function storeSettings(
  configuration: Pick<Configuration, 'data'> & Partial<Pick<Configuration, (typeof storedSettings)[number]>>,
  { replace }: { readonly replace: boolean },
): Promise<void> {
  const entries = storedSettings.flatMap((name) => {
    const value = configuration[name];
    return value === undefined || value.length === 0 ? [] : [[name, value] as const];
  });
  const path = storedSettingsPath(configuration.data);
  const stored = await readFile(path, 'utf8').catch(() => undefined);
  const former = replace || stored === undefined ? {} : (JSON.parse(stored) as object);
  const text = `${JSON.stringify({ ...Object.fromEntries(entries), ...former }, undefined, 2)}\n`;
  if (text === stored || (entries.length === 0 && stored === undefined)) return;
  await writePrivateFile(path, text, { replace: true });
}

// Defaults taken from the public URL: the contact for push services, and the title of a message.

/** The subject; if there is none, the origin of the public URL, if push services could open it. */
export function contactOf({
  subject,
  publicUrl,
}: Pick<Configuration, 'subject' | 'publicUrl'>): string | undefined {
  if (subject !== undefined || publicUrl === undefined) return subject;
  const url = parsePublicUrl(publicUrl);
  return url.protocol === 'https:' && !isLocal(url) ? url.origin : undefined;
}

/** The host of the public URL, or the name of this machine. */
export const hostTitle = ({ publicUrl }: Pick<Configuration, 'publicUrl'>): string =>
  publicUrl === undefined ? hostname() : parsePublicUrl(publicUrl).host;
