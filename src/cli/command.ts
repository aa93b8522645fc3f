// One command of `deskbell`, with what all of them have in common: options made from the configuration schema,
// examples in the help, and usage faults in the same form as every other fault.
import { Command, Option } from 'commander';
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
    .exitOverride()
    .configureOutput({
      outputError: (message, write) =>
        write(
          `deskbell: ${message
            .replace(/^error: /, '')
            .trim()
            .replaceAll(/\s*\n/g, ' ')}. See --help. [ERR_USAGE]\n`,
        ),
    })
    .addHelpText(
      'after',
      `\nExample${examples.length > 1 ? 's' : ''}:\n${examples.map((line) => `  $ ${line}\n`).join('')}`,
    );
  for (const setting of names) command.addOption(optionOf(setting));
  if (names.length > 0) command.option('--config <file>', 'configuration file (JSON); flags go before it');
  return command.option('--debug', 'shows stack traces of faults');
}

function optionOf(name: SettingName): Option {
  const setting: Setting<unknown> = settings[name];
  const value = setting.isSwitch ? '[true|false]' : `<${setting.unit ?? 'value'}>`;
  const fallback = setting.defaultInWords ?? String(setting.default);
  return new Option(
    `${flagOf(name)} ${value}`,
    `${setting.sentence} Takes ${setting.valid}. (default: ${fallback})`,
  );
}
