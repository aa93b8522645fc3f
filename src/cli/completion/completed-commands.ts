// What a shell completes of each command: commands below it, flags, and the values of flags and arguments. All of it is read
// from the descriptions of the commands.
import type { Argument, Command, Option } from 'commander';
import { flagOf, settingNames, settings } from '../configuration/configuration.ts';
import type { Setting } from '../configuration/setting.ts';

/** A word with what it means. */
export interface CompletedWord {
  readonly word: string;
  readonly description: string;
}

/** What can follow: names of files, one of some words, or what only a person knows. */
export type CompletedValue = 'file' | 'free' | readonly string[];

export interface CompletedFlag extends CompletedWord {
  /** `undefined` where nothing follows it, or nothing has to. */
  readonly value: CompletedValue | undefined;
}

export interface CompletedCommand {
  /** `deskbell schedules pause` */
  readonly path: string;
  readonly below: readonly CompletedWord[];
  readonly flags: readonly CompletedFlag[];
  /** Of its arguments, all of which are of one kind. */
  readonly argument: CompletedValue;
}

/** The command itself first, then those below it. */
export function completedCommands(command: Command, parent = ''): readonly CompletedCommand[] {
  const path = `${parent}${command.name()}`;
  const own = {
    path,
    below: wordsOf(command),
    flags: command.createHelp().visibleOptions(command).map(toFlag),
    argument: toValue(command.registeredArguments[0]),
  };
  return [own, ...command.commands.flatMap((child) => completedCommands(child, `${path} `))];
}

/** Of `help`, whose arguments are the words of a command: `deskbell help schedules` */
export function completedHelp(program: Command, help: string): readonly CompletedCommand[] {
  const walk = (command: Command, path: string): readonly CompletedCommand[] => [
    { path, below: wordsOf(command), flags: [], argument: 'free' },
    ...command.commands.flatMap((child) => walk(child, `${path} ${child.name()}`)),
  ];
  return walk(program, help);
}

const wordsOf = ({ commands }: Command): readonly CompletedWord[] =>
  commands.map((child) => ({ word: child.name(), description: child.summary() }));

function toFlag(option: Option): CompletedFlag {
  const { long, description } = option;
  return { word: long ?? '', description, value: option.required ? toValue(option) : undefined };
}

/** By its choices, those of its setting, or its placeholder. */
function toValue(given: Option | Argument | undefined): CompletedValue {
  if (given?.argChoices !== undefined) return given.argChoices;
  if (given !== undefined && 'long' in given) {
    return namesOf(given) ?? (/<(?:file|path|path,…|place)>$/.test(given.flags) ? 'file' : 'free');
  }
  return given?.name() === 'file' ? 'file' : 'free';
}

/** Options of settings are in a group; others may have the same name. */
function namesOf({ long, helpGroupHeading }: Option): readonly string[] | undefined {
  if (helpGroupHeading === undefined) return undefined;
  const name = settingNames.find((known) => flagOf(known) === long);
  const setting: Setting<unknown> | undefined = name && settings[name];
  return setting?.names;
}
