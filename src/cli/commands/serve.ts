// `deskbell serve`: runs the service until it is told to stop.
import { appendFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { withData } from '../data.ts';
import { formatError } from '../failure.ts';
import { addressOf, listenOn, untilStopped } from '../listening.ts';
import { senderSettings, openSender } from '../open-sender.ts';
import { readConfiguration } from '../read-configuration.ts';

export function serveCommand({ environment, output, stop }: Context): Command {
  return createCommand({
    name: 'serve',
    description: 'Runs the service. Prints one line with its address when it is ready.',
    settings: [
      'port',
      'host',
      'data',
      'prefix',
      'logging',
      'logFile',
      'authenticate',
      'redactSubscriptions',
      'bodyLimitBytes',
      'registrationsPerMinute',
      'trustProxy',
      'deliver',
      ...senderSettings,
    ],
    examples: [
      'deskbell serve --port 8080 --data /var/lib/deskbell',
      'deskbell serve --deliver --subject mailto:you@your.domain',
      'deskbell serve --logging action,filter,authenticator,action-creator',
    ],
  })
    .option('--json', 'Prints JSON Lines: the address, then the log records.')
    .action(async (flags: { readonly json?: true }) => {
      const configuration = await readConfiguration({ flags: { ...flags }, environment });
      const { host, port, data, prefix, logFile, authenticate, trustProxy } = configuration;
      await withData(data, async ({ store, vapidKeys, sessionKey }) => {
        const { createServer } = await import('../../service/create-server.ts');
        const { createLog } = await import('../../service/http/log.ts');
        if (logFile !== undefined) await checkLogFile(logFile);
        const log = createLog({
          ...(logFile !== undefined && { file: logFile }),
          ...(flags.json && { isReadable: false }),
        });
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
        const sender = configuration.deliver
          ? await openSender(configuration, vapidKeys, { environment, output }, store)
          : undefined;
        try {
          await listenOn({ host, port }, () => server.listen({ host, port }));
          const address = `${addressOf(host, (server.server.address() as AddressInfo).port)}${prefix}`;
          await output.line(
            flags.json ? JSON.stringify({ address }) : `Deskbell listens on ${output.style('bold', address)}`,
          );
          await (sender?.work(stop, (fault) => output.diagnostic(formatError(fault))) ?? untilStopped(stop));
        } finally {
          await sender?.close();
          await server.close();
          log.close();
        }
      });
    });
}

async function checkLogFile(path: string): Promise<void> {
  await appendFile(path, '').catch((cause: unknown) => {
    throw new DeskbellError('ERR_FILE', `The log file ${path} cannot be written`, { cause });
  });
}
