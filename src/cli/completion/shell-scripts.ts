// The scripts by which shells complete command lines. They need no program while one types: every command stands in them.
import type { CompletedCommand, CompletedValue, CompletedWord } from './completed-commands.ts';

export type Shell = keyof typeof shellScripts;

/** By shell; bash from version 3.2 on. */
export const shellScripts = {
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
} as const;

const patternOf = (commands: readonly CompletedCommand[]): string =>
  commands.map(({ path }) => quote(path)).join(' | ');

/** What there is at each command, in shell that both understand. @param list the words as a value of the shell */
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

/** As `_describe` takes it: the first colon ends the word. */
const withDescription = ({ word, description }: CompletedWord): string => quote(`${word}:${description}`);

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
