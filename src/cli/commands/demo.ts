// `deskbell demo`: the whole way of one notification, on this machine alone.
import type { Command } from 'commander';
import { parsePort } from '../arguments.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';

export function demoCommand(context: Context): Command {
  return createCommand({
    name: 'demo',
    description:
      'Starts a service and a push service on this machine, subscribes a user agent, sends it a message, and ' +
      'prints each step. Nothing leaves the machine, and nothing is left on it.',
    examples: ['deskbell demo', 'deskbell demo --once'],
  })
    .option('--once', 'Ends after the first notification; else it serves the page until Ctrl-C.')
    .option(
      '--port <port>',
      'Port of the service. (default: 8080, or a free one where that is taken)',
      parsePort,
    )
    .action(async ({ once, port }: { readonly once?: true; readonly port?: number }) => {
      const { runDemo } = await import('../run-demo.ts');
      await runDemo(context, { isOnce: once ?? false, ...(port !== undefined && { port }) });
    });
}
