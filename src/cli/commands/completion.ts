// `deskbell completion`: completion scripts for shells. Subcommands, flags and values are read from the descriptions of
// the commands.
import { Argument, type Command, type Option } from 'commander';
import { type Context, createCommand } from '../command.ts';
import { flagOf, settingNames, settings } from '../configuration/configuration.ts';
import type { Setting } from '../configuration/setting.ts';
import { quote } from '../output/command-hint.ts';

interface CompletedWord {
  readonly word: string;
  readonly description: string;
}

/** The possible values of a flag or argument: file names, fixed words, or free text. */
type CompletedValue = 'file' | 'free' | readonly string[];

export interface CompletedFlag extends CompletedWord {
  /** `undefined` if the flag has no value, or an optional value. */
  readonly value: CompletedValue | undefined;
}

interface CompletedCommand {
  /** For example `deskbell schedules pause`. */
  readonly path: string;
  readonly below: readonly CompletedWord[];
  readonly flags: readonly CompletedFlag[];
  /** What the arguments can be. All arguments of a command are of the same kind. */
  readonly argument: CompletedValue;
}

/** Returns the command itself, then its subcommands. */
function completedCommands(command: Command, parent = ''): readonly CompletedCommand[] {
  const path = `${parent}${command.name()}`;
  const own = {
    path,
    below: wordsOf(command),
    flags: command.createHelp().visibleOptions(command).map(toFlag),
    argument: toValue(command.registeredArguments[0]),
  };
  return [own, ...command.commands.flatMap((child) => completedCommands(child, `${path} `))];
}

/** Completes `help`, whose arguments are the words of a command: `deskbell help schedules` */
const completedHelp = (commands: readonly CompletedCommand[]): readonly CompletedCommand[] =>
  commands.map(({ path, below }) => ({
    path: path.replace(' ', ' help '),
    below,
    flags: [],
    argument: 'free',
  }));

const wordsOf = ({ commands }: Command): readonly CompletedWord[] =>
  commands.map((child) => ({ word: child.name(), description: child.summary() }));

function toFlag(option: Option): CompletedFlag {
  const { long, description } = option;
  return { word: long ?? '', description, value: option.required ? toValue(option) : undefined };
}

/** Derives the kind of value from the option's choices, its setting's choices, or its placeholder. */
function toValue(given: Option | Argument | undefined): CompletedValue {
  if (given?.argChoices !== undefined) return given.argChoices;
  if (given !== undefined && 'long' in given) {
    return namesOf(given) ?? (/<(?:file|path|path,…|place)>$/.test(given.flags) ? 'file' : 'free');
  }
  return given?.name() === 'file' ? 'file' : 'free';
}

/** Only options in a help group belong to settings; other options may have the same name as a setting. */
function namesOf({ long, helpGroupHeading }: Option): readonly string[] | undefined {
  if (helpGroupHeading === undefined) return undefined;
  const name = settingNames.find((known) => flagOf(known) === long);
  const setting: Setting<unknown> | undefined = name && settings[name];
  return setting?.names;
}

// Each shell script contains every command, so the shell completes without running a program.

type Shell = keyof typeof shellScripts;

/** The script for each shell; bash 3.2 or later, fish 3 or later. */
const shellScripts = {
  bash: (commands: readonly CompletedCommand[]): string => `\
# Completion of deskbell for bash. Made by: deskbell completion bash
_deskbell() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]}
  local at=deskbell below= flags= argument=free value= index
  # bash takes --flag=value for three words
  if [[ $current == = ]]; then current=
  elif [[ $previous == = ]]; then previous=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$at \${COMP_WORDS[index]}" in
      ${patternOf(commands.slice(1))}) at+=" \${COMP_WORDS[index]}" ;;
    esac
  done
${renderCommands(commands, (words) => quote(words.map(({ word }) => word).join(' ')))}
  if [[ -n $value ]]; then :
  elif [[ $current == -* ]]; then value=$flags
  elif [[ -n $below ]]; then value=$below
  else value=$argument
  fi
  COMPREPLY=()
  case $value in
    free) ;;
    file)
      local IFS=$'\\n'
      COMPREPLY=($(compgen -f -- "$current"))
      compopt -o filenames 2>/dev/null ;;
    *) COMPREPLY=($(compgen -W "$value" -- "$current")) ;;
  esac
}
complete -F _deskbell deskbell`,

  zsh: (commands: readonly CompletedCommand[]): string => `\
#compdef deskbell
# Completion of deskbell for zsh. Made by: deskbell completion zsh
_deskbell() {
  local at=deskbell argument=free value= previous=$words[CURRENT-1] index
  local -a below flags choices
  if [[ $words[CURRENT] == --*=* ]]; then
    previous=\${words[CURRENT]%%=*}
    compset -P '*='
  fi
  for ((index = 2; index < CURRENT; index++)); do
    case "$at $words[index]" in
      ${patternOf(commands.slice(1))}) at+=" $words[index]" ;;
    esac
  done
${renderCommands(commands, (words) => `(${words.map(withDescription).join(' ')})`)}
  if [[ -n $value ]]; then :
  elif [[ $words[CURRENT] == -* ]]; then _describe -o flag flags; return
  elif (( $#below )); then _describe command below; return
  else value=$argument
  fi
  case $value in
    free) ;;
    file) _files ;;
    *) choices=(\${=value}); _describe value choices ;;
  esac
}
if [[ $funcstack[1] == _deskbell ]]; then _deskbell "$@"
else compdef _deskbell deskbell
fi`,

  fish: (commands: readonly CompletedCommand[]): string => `\
# Completion of deskbell for fish. Made by: deskbell completion fish
function __deskbell_at
  set -l at
  for word in (commandline -opc)
    set -l next (string trim -- "$at $word")
    contains -- $next ${commands.map(({ path }) => quoteForFish(path)).join(' ')}; and set at $next
  end
  test "$at" = "$argv"
end
complete -c deskbell -f
${commands.flatMap(renderForFish).join('\n')}`,
} as const;

function renderForFish({ path, below, flags, argument }: CompletedCommand): readonly string[] {
  const complete = `complete -c deskbell -n ${quoteForFish(`__deskbell_at ${path}`)}`;
  const offer = (value: CompletedValue): string =>
    value === 'file' ? '-F' : value === 'free' ? '' : `-a ${quoteForFish(value.join(' '))}`;
  return [
    ...below.map(({ word, description }) => `${complete} -a ${word} -d ${quoteForFish(description)}`),
    ...flags.map(({ word, description, value }) => {
      const taken = value === undefined ? '' : value === 'file' ? ' -r -F' : ` -x ${offer(value)}`;
      return `${complete} -l ${word.slice(2)} -d ${quoteForFish(description)}${taken}`;
    }),
    ...(below.length > 0 || argument === 'free' ? [] : [`${complete} ${offer(argument)}`]),
  ];
}

const quoteForFish = (text: string): string => `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;

const patternOf = (commands: readonly CompletedCommand[]): string =>
  commands.map(({ path }) => quote(path)).join(' | ');

/** Returns the completions of each command, as code for bash and zsh. @param list formats words for the shell */
function renderCommands(
  commands: readonly CompletedCommand[],
  list: (words: readonly CompletedWord[]) => string,
): string {
  const cases = commands.map(({ path, below, flags, argument }) => {
    const values = Map.groupBy(
      flags.filter(({ value }) => value !== undefined),
      ({ value }) => renderValue(value!),
    );
    return [
      `    ${quote(path)})`,
      ...(below.length > 0 ? [`      below=${list(below)}`] : []),
      ...(flags.length > 0 ? [`      flags=${list(flags)}`] : []),
      ...(argument === 'free' ? [] : [`      argument=${renderValue(argument)}`]),
      ...(values.size > 0 ? ['      case $previous in'] : []),
      ...[...values].map(
        ([value, group]) => `        ${group.map(({ word }) => word).join(' | ')}) value=${value} ;;`,
      ),
      ...(values.size > 0 ? ['      esac'] : []),
      '      ;;',
    ].join('\n');
  });
  return ['  case $at in', ...cases, '  esac'].join('\n');
}

const renderValue = (value: CompletedValue): string =>
  typeof value === 'string' ? value : quote(value.join(' '));

/** Formats a word for zsh's `_describe`, which takes the text after the first colon as the description. */
const withDescription = ({ word, description }: CompletedWord): string => quote(`${word}:${description}`);

export function completionCommand({ output }: Context): Command {
  return createCommand({
    name: 'completion',
    description:
      'Prints a script that completes commands, flags and values for a shell. The script matches this version, so create it again after an upgrade.',
    examples: [
      'deskbell completion bash > ~/.local/share/bash-completion/completions/deskbell',
      'deskbell completion zsh > ~/.zsh/completions/_deskbell',
      'deskbell completion fish > ~/.config/fish/completions/deskbell.fish',
    ],
  })
    .addArgument(new Argument('<shell>', 'Shell.').choices(Object.keys(shellScripts)))
    .action(async (shell: Shell, _flags: object, { parent: program }: Command) => {
      const commands = completedCommands(program!);
      await output.line(shellScripts[shell]([...commands, ...completedHelp(commands.slice(1))]));
    });
}
