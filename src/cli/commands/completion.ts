// `deskbell completion`: the script by which a shell completes command lines of deskbell.
import { Argument, type Command } from 'commander';
import { createCommand } from '../command.ts';
import { completedCommands, completedHelp } from '../completion/completed-commands.ts';
import { shellScripts, type Shell } from '../completion/shell-scripts.ts';
import type { Context } from '../context.ts';

export function completionCommand({ output }: Context): Command {
  return createCommand({
    name: 'completion',
    description:
      'Prints a script that completes commands, flags and values for a shell. It is for this version: make it anew after an upgrade.',
    examples: [
      'deskbell completion bash > ~/.local/share/bash-completion/completions/deskbell',
      'deskbell completion zsh > ~/.zsh/completions/_deskbell',
    ],
  })
    .addArgument(new Argument('<shell>', 'Shell.').choices(Object.keys(shellScripts)))
    .action(async (shell: Shell, _flags: object, { parent: program }: Command) => {
      const commands = [...completedCommands(program!), ...completedHelp(program!, 'deskbell help').slice(1)];
      await output.line(shellScripts[shell](commands));
    });
}
