// `deskbell serve`: runs the service until it is told to stop.
import type { AddressInfo } from 'node:net';
import type { Command } from 'commander';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { withData } from '../data.ts';
import { addressOf, listenOn, untilStopped } from '../listening.ts';
import { readConfiguration } from '../read-configuration.ts';

export function serveCommand({ environment, output, stop }: Context): Command {
  return createCommand({
    name: 'serve',
    description: 'Runs the service, and prints one line with its address when it is ready.',
    settings: [
      'port',
      'host',
      'data',
      'prefix',
      'pushServices',
      'logging',
      'logFile',
      'authenticate',
      'redactSubscriptions',
      'bodyLimitBytes',
      'registrationsPerMinute',
      'trustProxy',
    ],
    examples: [
      'deskbell serve --port 8080 --data /var/lib/deskbell',
      'deskbell serve --logging action,filter,authenticator,action-creator',
    ],
  })
    .option(
      '--json',
      'Prints the line with the address as JSON, as the records are where there is no terminal.',
    )
    .action(async (flags: { readonly json?: true }) => {
      const { host, port, data, prefix, logFile, authenticate, trustProxy, ...configuration } =
        await readConfiguration({
          flags: { ...flags },
          environment,
        });
      await withData(data, async ({ store, vapidKeys, sessionKey }) => {
        const { createServer } = await import('../../service/create-server.ts');
        const { createLog } = await import('../../service/log.ts');
        const log = createLog(logFile === undefined ? {} : { file: logFile });
        const server = createServer({
          store,
          vapidPublicKey: vapidKeys.publicKey,
          sessionKey,
          prefix,
          pushServices: configuration.pushServices,
          logging: configuration.logging,
          ...(authenticate !== undefined && { authenticate }),
          redactSubscriptions: configuration.redactSubscriptions,
          bodyLimitBytes: configuration.bodyLimitBytes,
          registrationsPerMinute: configuration.registrationsPerMinute,
          ...(trustProxy.length > 0 && { trustProxy }),
          log,
        });
        try {
          await listenOn({ host, port }, () => server.listen({ host, port }));
          const address = `${addressOf(host, (server.server.address() as AddressInfo).port)}${prefix}`;
          await output.line(
            flags.json ? JSON.stringify({ address }) : `Deskbell listens on ${output.style('bold', address)}`,
          );
          await untilStopped(stop);
        } finally {
          await server.close();
          log.close();
        }
      });
    });
}
