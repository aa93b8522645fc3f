// `deskbell push-service`: runs the local push service until it is told to stop.
import { rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { parsePort } from '../flags/arguments.ts';
import { type Context, createCommand } from '../command.ts';
import { ignoreHangup, listenOn, untilStopped } from '../serve/listening.ts';

interface PushServiceFlags {
  readonly port: number;
  readonly host: string;
  readonly tls?: boolean;
  readonly events?: true;
  readonly json?: true;
}

const certificateName = 'deskbell-push-service.pem';

export function pushServiceCommand({ output, stop, stopPrinting, onHangup }: Context): Command {
  return createCommand({
    name: 'push-service',
    description:
      'Runs a local push service for development and tests. The push service keeps subscriptions only in memory. Give ' +
      'the address of the push service to other commands as --push-services, and to Firefox as dom.push.serverURL.',
    json: 'Prints the line with the addresses as JSON.',
    examples: [
      'deskbell push-service --port 8090',
      'deskbell serve --push-services http://127.0.0.1:8090',
      'deskbell push-service --tls',
    ],
  })
    .option('--port <port>', 'Port to listen on; 0 lets the system choose a free one.', parsePort, 8090)
    .option('--host <host>', 'Address to listen on.', '127.0.0.1')
    .option(
      '--tls',
      `Serves https with its own certificate, which clients must trust. While the push service runs, the certificate ` +
        `is in ${certificateName} in the current folder.`,
    )
    .option('--events', 'Prints events as JSON Lines.')
    .action(async ({ port, host, tls = false, events, json }: PushServiceFlags) => {
      const { startPushService } = await import('../../push-service/start-push-service.ts');
      const pushService = await listenOn({ host, port }, '--port', () =>
        startPushService({
          host,
          port,
          tls,
          onEvent: events && ((event) => void output.line(JSON.stringify(event))),
        }),
      );
      const { origin, webSocketUrl, controlUrl } = pushService;
      const certificateFile = tls ? resolve(certificateName) : undefined;
      try {
        if (certificateFile !== undefined) await writeFile(certificateFile, pushService.ca.join(''));
        const trust = certificateFile === undefined ? '' : `; clients must trust ${certificateFile}`;
        await output.result(
          { json },
          { origin, webSocketUrl, controlUrl, certificateFile },
          `Push service listens on ${output.style('bold', origin)} (user agents: ${webSocketUrl}, faults: ${controlUrl})${trust}`,
        );
        ignoreHangup({ output, onHangup });
        await untilStopped(events ? stopPrinting : stop);
      } finally {
        await pushService.close();
        if (certificateFile !== undefined) await rm(certificateFile, { force: true });
      }
    });
}
