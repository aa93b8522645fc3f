// What every command gets from the process, so that nothing else reads `process`.
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
  /** Aborted by SIGINT, SIGTERM and SIGHUP: end cleanly and soon. */
  readonly stop: AbortSignal;
  /**
   * Aborted as `stop` is, and when standard output cannot be written any longer: for commands that do nothing but print. The work of
   * others goes on without what it prints.
   */
  readonly stopPrinting: AbortSignal;
  /** Calls `listener` on SIGHUP, which otherwise ends the command as SIGTERM does. */
  onHangup(listener: () => void): void;
}

// What all commands of `deskbell` have in common: options made from the configuration schema, examples in the help,
// and usage errors in the same form as every other error.

export interface CommandDescription {
  readonly name: string;
  readonly description: string;
  /** Configuration entries that the command has flags for. */
  readonly settings?: readonly SettingName[];
  /** What `--json` prints, where the command has that flag. */
  readonly json?: string;
  /** Command lines to show in the help. */
  readonly examples: readonly string[];
}

export const createCommand = (description: CommandDescription): Command =>
  describeCommand(new Command(description.name), description);

/** Gives a command what all commands have. */
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

/** Its parser is given where its value is no text, and what else it conflicts with. */
type OptionRow = readonly [
  flags: string,
  description: string,
  parse?: ((value: string, previous: never) => unknown) | undefined,
  conflicts?: readonly string[],
];

/** @param conflicts attributes of options that each of these excludes, but for itself */
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

/** So many columns are enough for descriptions of options, as on a terminal of sixty: commander wants forty. */
const minWidthToWrap = 20;

const generalGroup = 'General:';
const sharedGroups = [...settingGroups.map(({ heading }) => `${heading}:`), generalGroup];

/** After the other options of its group. */
const lastFlags = ['--json', '--help'];
const placeOf = (item: Option | Command): number =>
  'long' in item ? lastFlags.indexOf(item.long ?? '') : -1;

/** A command's own options come first, then those of the configuration in the same order everywhere. */
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

/** The placeholder of a path or a switch says enough. */
const isValidShown = ({ placeholder, isPath }: Setting<unknown>): boolean =>
  isPath !== true && placeholder.startsWith('<');

/** Commander's message in the form that errors have (failure.ts). */
function formatUsageError(message: string): string {
  const text = message
    .replace(/^error: /, '')
    .trim()
    .replaceAll(/\s*\n/g, ' ')
    .replace(/\.$/, '');
  return `deskbell: ${text}. See --help. [ERR_USAGE]`;
}
