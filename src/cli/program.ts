// The program `deskbell`: its commands, the help, and the exit code of a run.
import { type Command, CommanderError } from 'commander';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { type Context, createCommand } from './command.ts';
import { alarmsCommand } from './commands/alarms.ts';
import { auditCommand } from './commands/audit.ts';
import { backupCommand, restoreCommand } from './commands/backup.ts';
import { bellsCommand } from './commands/bells.ts';
import { broadcastsCommand } from './commands/broadcasts.ts';
import { channelsCommand } from './commands/channels.ts';
import { completionCommand } from './commands/completion.ts';
import { demoCommand } from './commands/demo.ts';
import { doctorCommand } from './commands/doctor.ts';
import { healthcheckCommand } from './commands/healthcheck.ts';
import { heldDeletionsCommand } from './commands/held-deletions.ts';
import { inviteCommand } from './commands/invite.ts';
import { keysCommand } from './commands/keys.ts';
import { operatorsCommand } from './commands/operators.ts';
import { peopleCommand } from './commands/people.ts';
import { pushServiceCommand } from './commands/push-service.ts';
import { schedulesCommand } from './commands/schedules.ts';
import { sendCommand } from './commands/send.ts';
import { sendingCommand } from './commands/sending.ts';
import { serveCommand } from './commands/serve.ts';
import { storeCommand } from './commands/store.ts';
import { subscriptionsCommand } from './commands/subscriptions.ts';
import { sessionCommand, tokenCommand, webhookSecretCommand } from './commands/tokens.ts';
import { packageVersion, versionCommand } from './commands/version.ts';
import { webPushCommand } from './commands/web-push.ts';
import { workerCommand } from './commands/worker.ts';
import { exitCodeOf, exitCodes, formatError } from './output/failure.ts';
import type { Output } from './output/output.ts';

function helpCommand(): Command {
  return createCommand({
    name: 'help',
    description: 'Prints the help text of a command, as the --help option does.',
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

/** Runs one command line and resolves to its exit code. Errors are reported on standard error. */
export async function runCommandLine(words: readonly string[], context: Context): Promise<number> {
  let debug = context.environment['DESKBELL_DEBUG'] !== undefined;
  const program = createProgram(context);
  printTo(context.output, program);
  program.hook('preAction', (_program, command) => {
    debug ||= command.optsWithGlobals()['debug'] === true;
  });
  try {
    await program.parseAsync(withoutHelpOfUnknownCommand(words, program), { from: 'user' });
    return exitCodes.done;
  } catch (error) {
    // Commander itself has already printed the help, the version or the error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUsage;
    // `runProcess` has already reported that standard output failed. If `… | head` closes the output early, nothing
    // failed.
    if (error instanceof DeskbellError && error.code === 'ERR_OUTPUT') return exitCodes.done;
    context.output.diagnostic(formatError(error, { debug }));
    return exitCodeOf(error);
  }
}

/** Drops --help after an unknown command; commander would print the parent's help instead of an error. */
function withoutHelpOfUnknownCommand(words: readonly string[], program: Command): readonly string[] {
  let command = program;
  for (const name of words.filter((word) => !word.startsWith('-'))) {
    const named = command.commands.find((child) => child.name() === name);
    if (named !== undefined) command = named;
    else if (command.commands.length === 0) return words;
    else return words.filter((word) => !['-h', '--help'].includes(word));
  }
  return words;
}

/** Sends what commander prints, such as the help, to our output. */
function printTo(output: Output, command: Command): void {
  command.configureOutput({
    writeOut: (text) => void output.line(text.replace(/\n$/, '')),
    writeErr: (text) => output.diagnostic(text.replace(/\n$/, '')),
  });
  for (const child of command.commands) printTo(output, child);
}

export function createProgram(context: Context): Command {
  return createCommand({
    name: 'deskbell',
    description:
      'Web Push from your own server. "deskbell <command> --help" describes a command and its options.',
    examples: ['deskbell demo', 'deskbell serve --port 8080'],
  })
    .version(packageVersion(), '--version', 'Prints the version.')
    .addCommand(demoCommand(context))
    .addCommand(serveCommand(context))
    .addCommand(sendCommand(context))
    .addCommand(broadcastsCommand(context))
    .addCommand(schedulesCommand(context))
    .addCommand(bellsCommand(context))
    .addCommand(sendingCommand(context))
    .addCommand(workerCommand(context))
    .addCommand(subscriptionsCommand(context))
    .addCommand(peopleCommand(context))
    .addCommand(channelsCommand(context))
    .addCommand(inviteCommand(context))
    .addCommand(tokenCommand(context))
    .addCommand(alarmsCommand(context))
    .addCommand(heldDeletionsCommand(context))
    .addCommand(keysCommand(context))
    .addCommand(operatorsCommand(context))
    .addCommand(auditCommand(context))
    .addCommand(webhookSecretCommand(context))
    .addCommand(doctorCommand(context))
    .addCommand(healthcheckCommand(context))
    .addCommand(backupCommand(context))
    .addCommand(restoreCommand(context))
    .addCommand(storeCommand(context))
    .addCommand(sessionCommand(context))
    .addCommand(pushServiceCommand(context))
    .addCommand(webPushCommand(context))
    .addCommand(versionCommand(context))
    .addCommand(completionCommand(context))
    .addCommand(helpCommand());
}
