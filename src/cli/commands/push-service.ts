// `deskbell push-service`: runs the local push service until it is told to stop.
import type { Command } from 'commander';
import { parsePort } from '../flags/arguments.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { ignoreHangup, listenOn, untilStopped } from '../serve/listening.ts';

interface PushServiceFlags {
  readonly port: number;
  readonly host: string;
  readonly events?: true;
  readonly json?: true;
}

export function pushServiceCommand({ output, stop, onHangup }: Context): Command {
  return createCommand({
    name: 'push-service',
    description:
      'Runs a local push service for development and tests. Its subscriptions are in memory and are lost when it ends. ' +
      'Give its address to other commands as --push-services, and to Firefox as dom.push.serverURL.',
    json: 'Prints the line with the addresses as JSON.',
    examples: ['deskbell push-service --port 8090', 'deskbell serve --push-services http://127.0.0.1:8090'],
  })
    .option('--port <port>', 'Port to listen on; 0 lets the system choose a free one.', parsePort, 8090)
    .option('--host <host>', 'Address to listen on.', '127.0.0.1')
    .option('--events', 'Prints events as JSON Lines.')
    .action(async ({ port, host, events, json }: PushServiceFlags) => {
      const { startPushService } = await import('../../push-service/start-push-service.ts');
      const pushService = await listenOn({ host, port }, () =>
        startPushService({
          host,
          port,
          onEvent: events && ((event) => void output.line(JSON.stringify(event))),
        }),
      );
      const { origin, webSocketUrl, controlUrl } = pushService;
      await output.result(
        { json },
        { origin, webSocketUrl, controlUrl },
        `Push service listens on ${output.style('bold', origin)} (user agents: ${webSocketUrl}, faults: ${controlUrl})`,
      );
      ignoreHangup({ output, onHangup });
      await untilStopped(stop);
      await pushService.close();
    });
}
