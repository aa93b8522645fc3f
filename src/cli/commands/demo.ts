// `deskbell demo`: one notification from end to end, on this machine.
import type { Command } from 'commander';
import { parsePort } from '../flags/arguments.ts';
import { type Context, createCommand } from '../command.ts';

export function demoCommand(context: Context): Command {
  return createCommand({
    name: 'demo',
    description:
      'Sends one notification from end to end on this machine. The command starts a service and a push service, ' +
      'subscribes a user agent, sends a message to the user agent, and prints each step. The demonstration needs no ' +
      'network and leaves no files.',
    examples: ['deskbell demo', 'deskbell demo --once'],
  })
    .option(
      '--once',
      'Exits after the first notification. Without this option, the demo page is served until Ctrl-C.',
    )
    .option(
      '--port <port>',
      'The service’s port. (default: 8080, or a free port if 8080 is in use)',
      parsePort,
    )
    .action(async ({ once, port }: { readonly once?: true; readonly port?: number }) => {
      const { runDemo } = await import('../demo/run-demo.ts');
      await runDemo(context, { isOnce: once ?? false, port });
    });
}
