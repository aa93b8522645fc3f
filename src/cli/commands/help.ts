// `deskbell help`: the help of a command, by its words.
import type { Command } from 'commander';
import { createCommand } from '../command.ts';

export function helpCommand(): Command {
  return createCommand({
    name: 'help',
    description: 'Prints the help of a command, as --help does.',
    examples: ['deskbell help', 'deskbell help schedules pause'],
  })
    .argument('[command...]', 'Command, such as "schedules pause".')
    .action((words: readonly string[], _flags: object, { parent }: Command) => {
      let command = parent!;
      for (const word of words) {
        const next = command.commands.find((child) => child.name() === word);
        command = next ?? command.error(`error: unknown command '${word}'`);
      }
      command.outputHelp();
    });
}
