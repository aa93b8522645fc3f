// What all commands share: their context, options made from the configuration schema, examples in the help, and usage
// errors that look like all other errors.
import type { Readable } from 'node:stream';
import { Command, Help, Option } from 'commander';
import { flagOf, settingGroups, type SettingName, settings } from './configuration/configuration.ts';
import type { Setting } from './configuration/setting.ts';
import type { Output } from './output/output.ts';

export interface Context {
  /** How to run this command in another terminal, such as `npx deskbell`. */
  readonly invocation: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly input: Readable;
  readonly output: Output;
  /** Aborted by SIGINT, SIGTERM and SIGHUP. The command then ends cleanly and soon. */
  readonly stop: AbortSignal;
  /** Aborted like `stop`, and also when standard output cannot be written. For commands that only print. */
  readonly stopPrinting: AbortSignal;
  /** Calls `listener` on SIGHUP. Without a listener, SIGHUP ends the command, as SIGTERM does. */
  onHangup(listener: () => void): void;
}

export interface CommandDescription {
  readonly name: string;
  readonly description: string;
  /** Configuration entries that the command has flags for. */
  readonly settings?: readonly SettingName[];
  /** What `--json` prints, if the command has that flag. */
  readonly json?: string;
  /** Command lines to show in the help. */
  readonly examples: readonly string[];
}

export const createCommand = (description: CommandDescription): Command =>
  describeCommand(new Command(description.name), description);

/** Adds the configuration flags, the examples and the error handling of every command. */
export function describeCommand<Described extends Command>(
  command: Described,
  { description, settings: names = [], json, examples }: CommandDescription,
): Described {
  command
    .description(description)
    .summary(/^.*?\.(?= |$)/.exec(description)?.[0] ?? description)
    .exitOverride()
    .configureOutput({ outputError: (message, write) => write(`${formatUsageError(message)}\n`) })
    .helpCommand(false)
    .helpOption('-h, --help', 'Prints this help.')
    .addHelpText(
      'after',
      `\nExample${examples.length > 1 ? 's' : ''}:\n${examples.map((line) => `  $ ${line}\n`).join('')}`,
    );
  if (json !== undefined) command.option('--json', json);
  for (const { heading, names: members } of settingGroups) {
    for (const member of members) {
      if (names.includes(member)) command.addOption(optionOf(member).helpGroup(`${heading}:`));
    }
  }
  if (names.length > 0) {
    const config = new Option('--config <file>', 'Configuration file (JSON). Flags override it.');
    command.addOption(config.helpGroup(generalGroup));
  }
  const debug = new Option('--debug', 'Prints the stack trace of an error.');
  return command
    .addOption(debug.helpGroup(generalGroup))
    .configureHelp({ groupItems: ownGroupsFirst, minWidthToWrap });
}

/** A value without a parser is text. `conflicts` names the options that cannot be used together with this one. */
type OptionRow = readonly [
  flags: string,
  description: string,
  parse?: ((value: string, previous: never) => unknown) | undefined,
  conflicts?: readonly string[],
];

/** @param conflicts attributes of options that cannot be used together with any of the new options */
export function addOptions<Extended extends Command>(
  command: Extended,
  conflicts: readonly string[],
  rows: readonly OptionRow[],
): Extended {
  for (const [flags, description, parse, ownConflicts = []] of rows) {
    const option = new Option(flags, description);
    if (parse !== undefined) option.argParser(parse as (value: string) => unknown);
    const others = [...conflicts, ...ownConflicts].filter((name) => name !== option.attributeName());
    command.addOption(option.conflicts(others));
  }
  return command;
}

/** The narrowest column in which descriptions wrap. Commander's default, 40, is too wide for 60-column terminals. */
const minWidthToWrap = 20;

const generalGroup = 'General:';
const sharedGroups = [...settingGroups.map(({ heading }) => `${heading}:`), generalGroup];

/** Options that the help lists last in their group. */
const lastFlags = ['--json', '--help'];
const placeOf = (item: Option | Command): number =>
  'long' in item ? lastFlags.indexOf(item.long ?? '') : -1;

/** Lists a command's own options first, then the configuration's options, always in the same order. */
const ownGroupsFirst: Help['groupItems'] = (...items) => {
  const groups = Help.prototype.groupItems(...items);
  for (const heading of ['Options:', ...sharedGroups]) {
    const shared = groups.get(heading);
    groups.delete(heading);
    if (shared !== undefined) {
      groups.set(
        heading,
        shared.toSorted((one, other) => placeOf(one) - placeOf(other)),
      );
    }
  }
  return groups;
};

function optionOf(name: SettingName): Option {
  const setting: Setting<unknown> = settings[name];
  const fallback = setting.defaultLabel ?? String(setting.default);
  return new Option(
    `${flagOf(name)} ${setting.placeholder}`,
    `${setting.description} ${isValidShown(setting) ? `Accepts ${setting.valid}. ` : ''}(default: ${fallback})`,
  );
}

/** False for paths and optional values, because their placeholders already show what is valid. */
const isValidShown = ({ placeholder, isPath }: Setting<unknown>): boolean =>
  isPath !== true && placeholder.startsWith('<');

/** Rewrites commander's message in the form of our errors (failure.ts). */
function formatUsageError(message: string): string {
  const text = message
    .replace(/^error: /, '')
    .trim()
    .replaceAll(/\s*\n/g, ' ')
    .replace(/\.$/, '');
  return `deskbell: ${text}. See --help. [ERR_USAGE]`;
}
