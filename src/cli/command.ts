// What all commands of `deskbell` have in common: options made from the configuration schema, examples in the help,
// and usage errors in the same form as every other error.
import { Command, Help, Option } from 'commander';
import { flagOf, settings, type SettingName } from './configuration.ts';
import type { Setting } from './setting.ts';

export interface CommandDescription {
  readonly name: string;
  readonly description: string;
  /** Configuration entries that the command has flags for. */
  readonly settings?: readonly SettingName[];
  /** Command lines to show in the help. */
  readonly examples: readonly string[];
}

export function createCommand({
  name,
  description,
  settings: names = [],
  examples,
}: CommandDescription): Command {
  const command = new Command(name)
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
  const debug = new Option('--debug', 'Prints the stack trace of an error.');
  if (names.length === 0) return command.addOption(debug);
  const config = new Option('--config <file>', 'Configuration file (JSON). Flags override it.');
  const shared = [...names.map(optionOf), config, debug];
  for (const option of shared) command.addOption(option.helpGroup(sharedGroup));
  return command.configureHelp({ groupItems: sharedGroupLast });
}

const sharedGroup = 'Configuration:';

/** A command's own options come first. */
const sharedGroupLast: Help['groupItems'] = (...items) => {
  const groups = Help.prototype.groupItems(...items);
  const shared = groups.get(sharedGroup);
  groups.delete(sharedGroup);
  return shared ? groups.set(sharedGroup, shared) : groups;
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
