// Creates commands to suggest to users, with the current configuration, so that they also work in another terminal.
import { basename, relative } from 'node:path';
import { hidePasswords } from '../../errors/untrusted-text.ts';
import type { Context } from '../command.ts';
import {
  dataSettings,
  flagOf,
  senderSettings,
  type SettingName,
  variableOf,
} from '../configuration/configuration.ts';

/**
 * @param argv arguments of the process: the path of Node, then the path of the command
 * @returns `deskbell`, or `npx deskbell` if the package is installed in this folder. Otherwise the absolute paths of
 *   Node and the file, because another terminal may have another Node and directory
 */
export function invocationOf([node = 'node', file = 'deskbell']: readonly string[], folder: string): string {
  if (basename(file) === 'deskbell') {
    return relative(folder, file) === 'node_modules/.bin/deskbell' ? 'npx deskbell' : 'deskbell';
  }
  return `${quote(node)} ${quote(file)}`;
}

/** Returns `text` as one word of a shell command. */
export const quote = (text: string): string =>
  /^[\w./:@,=+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Commands that deliver, and therefore also have the settings of senders. */
const delivering = /^(?:send|worker|serve|broadcasts resume)(?: |$)/;

/** Without a public URL, invitations lead to the address that the service listens on. */
const addressSettings: readonly SettingName[] = ['publicUrl', 'host', 'port', 'prefix'];

/** Turns `broadcasts resume 7` into the full command line: `deskbell broadcasts resume 7 --data /srv/push`. */
export type CommandHint = (words: string) => string;

/**
 * Repeats the flags and environment variables of this run as flags.
 *
 * @param given the flags as commander returns them
 */
export function createCommandHint(
  { invocation, environment }: Pick<Context, 'invocation' | 'environment'>,
  given: object,
): CommandHint {
  const flags: Readonly<Record<string, unknown>> = { ...given };
  const optionsOf = (names: readonly SettingName[]): string =>
    [
      ...names.map((name) => [flagOf(name), shown(name, flags, environment)] as const),
      ['--config', flags['config'] ?? environment['DESKBELL_CONFIG']] as const,
    ]
      .filter(([, value]) => value !== undefined)
      .map(([flag, value]) => ` ${flag} ${quote(String(value))}`)
      .join('');
  return (words) => {
    const further = delivering.test(words)
      ? senderSettings
      : words.startsWith('invite ')
        ? addressSettings
        : [];
    const names = [...dataSettings, ...further];
    return `${invocation} ${words}${optionsOf(names)}`;
  };
}

/** Hides passwords. Leaves out a database URL from the environment, since the suggested command finds it there too. */
function shown(
  name: SettingName,
  flags: Readonly<Record<string, unknown>>,
  environment: Context['environment'],
): unknown {
  if (name !== 'database') return flags[name] ?? environment[variableOf(name)];
  return typeof flags[name] === 'string' ? hidePasswords(flags[name]) : undefined;
}
