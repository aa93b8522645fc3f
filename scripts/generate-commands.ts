// Writes docs/commands.md from the commands themselves: what `--help` says, on one page. With --check it writes nothing and
// fails where the page differs.
import { Readable } from 'node:stream';
import type { Argument, Command, Option } from 'commander';
import { settingGroups, flagOf } from '../src/cli/configuration/configuration.ts';
import { createOutput } from '../src/cli/output/output.ts';
import { createProgram } from '../src/cli/program.ts';
import { anchorOf, tableRow, writePage } from './write-page.ts';

const program = createProgram({
  invocation: 'deskbell',
  environment: {},
  input: Readable.from([]),
  output: createOutput(process, () => {}),
  stop: new AbortController().signal,
  stopPrinting: new AbortController().signal,
  onHangup: () => {},
});

/** Flags of configuration.md, by their heading there. */
const configured = new Map(
  settingGroups.flatMap(({ heading, names }) => names.map((name) => [flagOf(name), heading] as const)),
);

const commands = leavesOf(program);

await writePage(
  'docs/commands.md',
  `# Command line

<!-- Made from src/cli/ by \`npm run docs\`. -->

\`deskbell help <command>\` prints the same text in the terminal. [\`deskbell completion\`](#deskbell-completion) prints a script for a shell. Every command has the
\`--help\` option. With \`--debug\`, every command prints the stack trace of an error. Commands that read the [configuration](configuration.md) have the \`--config FILE\` option. With
\`--json\`, commands print JSON or JSON Lines on standard output, and messages for people on standard error.

A command ends with one of these exit codes:

- 0: the command is done.
- 1: there was an error, or part of the work failed.
- 2: the usage or configuration is wrong. The error has the code \`ERR_USAGE\` or \`ERR_CONFIGURATION\`.

If the command line is correct but the library refuses one of its values, such as a cron expression, a tag or the message's link, the error has its own code and the exit code
is 1. Each error message ends with its code. For the codes, see [Errors](errors.md).

${commands.map(({ name, command }) => `- [\`${name}\`](#${anchorOf(name)}): ${command.summary()}`).join('\n')}

${commands.map(renderCommand).join('\n\n')}
`,
);

interface Leaf {
  readonly name: string;
  readonly command: Command;
}

/** The commands that do something, in the order of the help. */
function leavesOf(command: Command, parents: readonly string[] = []): readonly Leaf[] {
  const words = [...parents, command.name()];
  if (command.commands.length === 0) return [{ name: words.join(' '), command }];
  return command.commands.flatMap((child) => leavesOf(child, words));
}

function renderCommand({ name, command }: Leaf): string {
  const options = command.options.filter(({ hidden }) => !hidden);
  const own = options.filter(
    (option) => !isConfigured(option) && !['--config', '--debug'].includes(option.long ?? ''),
  );
  const fromConfiguration = options.flatMap((option) => (isConfigured(option) ? [option.long!] : []));
  const usage = [
    name,
    ...command.registeredArguments.map(wordOf),
    ...(options.length > 0 ? ['[options]'] : []),
  ];
  const examples = /\nExamples?:\n([^]*)$/.exec(helpAfter(command))?.[1] ?? '';
  return [
    `## ${name}`,
    command.description(),
    `\`\`\`\n${usage.join(' ')}\n\`\`\``,
    ...table(
      ['Argument', ''],
      command.registeredArguments.map((argument) => [`\`${wordOf(argument)}\``, argument.description]),
    ),
    ...table(
      ['Option', ''],
      own.map((option) => [`\`${option.flags}\``, describe(option)]),
    ),
    ...(fromConfiguration.length === 0
      ? []
      : [
          `You can also set ${fromConfiguration.length === 1 ? 'this option' : 'these options'} in the [configuration](configuration.md): ${fromConfiguration.map((flag) => `\`${flag}\``).join(', ')}.`,
        ]),
    ...(examples === '' ? [] : [`\`\`\`sh\n${examples.replaceAll(/^ {2}\$ /gm, '').trim()}\n\`\`\``]),
  ].join('\n\n');
}

/** A command may have a flag of its own with the name of a setting; only those of settings are in a group. */
function isConfigured({ long, helpGroupHeading }: Option): boolean {
  return helpGroupHeading !== undefined && configured.has(long ?? '');
}

function wordOf(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function describe({ description, argChoices, defaultValue }: Option): string {
  const choices =
    argChoices === undefined
      ? ''
      : argChoices.length > 12 // they would not fit into a cell
        ? ` \`--help\` lists the ${argChoices.length} values.`
        : ` Values: ${argChoices.map((choice) => `\`${choice}\``).join(', ')}.`;
  const fallback =
    defaultValue === undefined || defaultValue === false ? '' : ` Default: \`${String(defaultValue)}\`.`;
  return `${description}${choices}${fallback}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  if (rows.length === 0) return [];
  return [[head, head.map(() => '---'), ...rows].map((cells) => tableRow(...cells)).join('\n')];
}

/** What is printed after the options. */
function helpAfter(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
}
