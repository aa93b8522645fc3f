// How to run this command in another terminal.
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
 * @param argv of the process: the path of Node, then the path of the command
 * @returns `deskbell`, `npx deskbell` where the package is installed in the folder, or Node and the file, as absolute paths, since another terminal
 *   may have another Node and another directory
 */
export function invocationOf([node = 'node', file = 'deskbell']: readonly string[], folder: string): string {
  if (basename(file) === 'deskbell') {
    return relative(folder, file) === 'node_modules/.bin/deskbell' ? 'npx deskbell' : 'deskbell';
  }
  return `${quote(node)} ${quote(file)}`;
}

/** `text` as one word of a shell command. */
export const quote = (text: string): string =>
  /^[\w./:@,=+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

// Commands to suggest to the user, with the configuration that is in use, so that they work as they are.

/** Commands that begin with these words deliver, and take the settings of senders too. */
const delivering = /^(?:send|worker|serve|broadcasts resume)(?: |$)/;

/** Where there is no public URL, invitations lead to where the service listens. */
const addressSettings: readonly SettingName[] = ['publicUrl', 'host', 'port', 'prefix'];

/** `deskbell broadcasts resume 7 --data /srv/push` → what to type, given `broadcasts resume 7` */
export type CommandHint = (words: string) => string;

/**
 * Repeats the flags and the environment variables of this run as flags.
 *
 * @param given as commander gives them
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

/** What holds a password stays in the environment, where it is. */
function shown(
  name: SettingName,
  flags: Readonly<Record<string, unknown>>,
  environment: Context['environment'],
): unknown {
  if (name !== 'database') return flags[name] ?? environment[variableOf(name)];
  return typeof flags[name] === 'string' ? hidePasswords(flags[name]) : undefined;
}
