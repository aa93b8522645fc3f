// One command of `deskbell`, with what all of them have in common: options made from the configuration schema,
// examples in the help, and usage faults in the same form as every other fault.
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
    .configureOutput({ outputError: (message, write) => write(`${describeMisuse(message)}\n`) })
    .helpCommand(false)
    .helpOption('-h, --help', 'Prints this help.')
    .addHelpText(
      'after',
      `\nExample${examples.length > 1 ? 's' : ''}:\n${examples.map((line) => `  $ ${line}\n`).join('')}`,
    );
  const debug = new Option('--debug', 'Shows the stack trace of a fault.');
  if (names.length === 0) return command.addOption(debug);
  const config = new Option('--config <file>', 'Configuration file (JSON). Flags win over it.');
  const shared = [...names.map(optionOf), config, debug];
  for (const option of shared) command.addOption(option.helpGroup(sharedGroup));
  return command.configureHelp({ groupItems: sharedGroupLast });
}

const sharedGroup = 'Configuration:';

/** What is peculiar to a command is read first. */
const sharedGroupLast: Help['groupItems'] = (...items) => {
  const groups = Help.prototype.groupItems(...items);
  const shared = groups.get(sharedGroup);
  groups.delete(sharedGroup);
  return shared ? groups.set(sharedGroup, shared) : groups;
};

function optionOf(name: SettingName): Option {
  const setting: Setting<unknown> = settings[name];
  const placeholder = setting.isSwitch ? '[true|false]' : setting.isPath ? '<path>' : '<value>';
  const fallback = setting.defaultInWords ?? String(setting.default);
  return new Option(
    `${flagOf(name)} ${placeholder}`,
    `${setting.sentence} ${setting.isPath || setting.isSwitch ? '' : `Takes ${setting.valid}. `}(default: ${fallback})`,
  );
}

/** Commander's complaint in the form that faults have (failure.ts). */
function describeMisuse(message: string): string {
  const complaint = message
    .replace(/^error: /, '')
    .trim()
    .replaceAll(/\s*\n/g, ' ')
    .replace(/\.$/, '');
  return `deskbell: ${complaint}. See --help. [ERR_USAGE]`;
}
