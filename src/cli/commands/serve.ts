// `deskbell serve`: runs the service until it is told to stop.
import { execFile } from 'node:child_process';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import type { FastifyInstance } from 'fastify';
import { createWarningReader } from '../../delivery/alarms/installation-warnings.ts';
import type { MessageLog } from '../../delivery/reports/message-log.ts';
import { isLoopback } from '../../http/client-address.ts';
import type { OpenLog } from '../../http/log.ts';
import type { RegistrationResult } from '../../operator/metrics/definitions.ts';
import { createMetrics, type Metrics } from '../../operator/metrics/metrics.ts';
import { type Context, createCommand } from '../command.ts';
import { type Configuration, pick, serviceSettings, settingNames } from '../configuration/configuration.ts';
import {
  contactOf,
  hostTitle,
  readConfiguration,
  storeSettings,
} from '../configuration/read-configuration.ts';
import { exampleUsersPathOf } from '../data/data-directory.ts';
import { noteOperatorAddress } from '../data/noted-facts.ts';
import { withData } from '../data/open-data.ts';
import { withRetention } from '../data/retention-loop.ts';
import { createCommandHint } from '../output/command-hint.ts';
import { describeError, formatError } from '../output/failure.ts';
import type { JsonFlag } from '../output/output.ts';
import { openSender } from '../send/open-sender.ts';
import { ignoreHangup, listenAt, untilStopped } from '../serve/listening.ts';
import {
  assertListenerIsAskedFor,
  machineFiguresReader,
  openBells,
  openOperator,
  type OpenOperator,
  openWebhook,
  readListenerAccess,
} from '../serve/open-operator.ts';
import { createEndpointPolicy } from '../../protocol/endpoint-policy.ts';
import { logDelivery, messageEvent, withReport } from '../serve/report-delivery.ts';
import { readSubscriberTokens } from './tokens.ts';

/** Counts responses to POST /webPush for metrics. Must be called before the service listens. */
export function countRegistrations(
  service: FastifyInstance,
  prefix: string,
  metrics: Pick<Metrics, 'recordRegistration'>,
): void {
  service.addHook('onResponse', ({ method, routeOptions }, { statusCode }, done) => {
    const isRegistration = method === 'POST' && routeOptions.url === `${prefix}/webPush`;
    if (isRegistration) metrics.recordRegistration(resultOf(statusCode));
    done();
  });
}

function resultOf(status: number): RegistrationResult {
  if (status === 200) return 'stored';
  if (status === 429) return 'limited';
  return status >= 500 ? 'failed' : 'refused';
}

// Tells systemd that the process is ready, alive or stopping (sd_notify, Type=notify). Node has no Unix datagram
// sockets, so systemd's own program sends the messages, and the unit needs NotifyAccess=all.

const execute = promisify(execFile);

/** @param onError called once if systemd cannot be notified */
export async function underSystemd(
  { environment, stop }: Pick<Context, 'environment' | 'stop'>,
  onError: (reason: string) => void,
  work: () => Promise<void>,
): Promise<void> {
  if (environment['NOTIFY_SOCKET'] === undefined) return work();
  let hasFailed = false;
  const notify = async (...words: readonly string[]): Promise<void> => {
    try {
      await execute('systemd-notify', words, { env: { ...environment } });
    } catch (error) {
      if (!hasFailed) onError(`systemd cannot be told how this process is: ${describeError(error)}`);
      hasFailed = true;
    }
  };
  await notify('--ready', `MAINPID=${process.pid}`);
  const watchdogMs = Number(environment['WATCHDOG_USEC'] ?? 0) / 1000;
  // notify three times per interval, so that one late message does not cause a restart
  const alive = watchdogMs > 0 ? setInterval(() => void notify('WATCHDOG=1'), watchdogMs / 3) : undefined;
  let stopping: Promise<void> | undefined;
  stop.addEventListener('abort', () => (stopping = notify('STOPPING=1')), { once: true });
  try {
    await work();
  } finally {
    clearInterval(alive);
    await stopping;
  }
}

export function serveCommand(context: Context): Command {
  const { environment, output, stop } = context;
  return createCommand({
    name: 'serve',
    description: 'Runs the service. When the service is ready, the command prints one line with the address.',
    settings: settingNames.filter((name) => name !== 'metrics'),
    json: 'Prints JSON Lines: the address and the surface, then the log records.',
    examples: [
      'deskbell serve',
      'deskbell serve --push-only --port 8080 --data /var/lib/deskbell',
      'deskbell serve --registrations invited --public-url https://bell.example.org',
      'deskbell serve --deliver --subject mailto:you@example.org',
      'deskbell serve --deliver --operator 127.0.0.1:8081 --subject mailto:you@example.org',
      'deskbell serve --logging action,filter,authenticator,action-creator',
    ],
  }).action(async (flags: JsonFlag) => {
    const configuration = await readConfiguration({ flags, environment });
    assertListenerIsAskedFor(configuration);
    const { host, port, data, prefix, pushOnly, registrations, logFile, maxSubscriptions } = configuration;
    // warnings go to standard error until the log is open
    let warn: (warning: string) => void = output.diagnostic;
    const onWarning = (warning: string): void => warn(warning);
    const subscriptionLimit = maxSubscriptions === undefined ? undefined : { maxSubscriptions, onWarning };
    await withData(configuration, { subscriptionLimit, onWarning }, async (opened) => {
      const { store, vapidKeys, sessionKey } = opened;
      await storeSettings(configuration, { replace: true });
      const subscriberTokens = await readSubscriberTokens(configuration, opened);
      const { createServer } = await import('../../service/create-service.ts');
      const { openExampleUsers } = await import('../../service/demonstration/users.ts');
      const { createLog } = await import('../../http/log.ts');
      const log = createLog({ file: logFile, isReadable: flags.json ? false : undefined });
      if (logFile === undefined) ignoreHangup(context);
      else context.onHangup(() => reopen(log, context));
      const readWarnings = createWarningReader(store, vapidKeys.keyDirectory);
      warn = (detail) => log.error({ event: 'warning', detail });
      for (const { detail, remedy } of await readWarnings()) onWarning(`${detail} ${remedy}`);
      const exampleUsers = pushOnly ? undefined : openExampleUsers({ path: exampleUsersPathOf(data) });
      const server = createServer({
        store,
        ...pick(configuration, [...serviceSettings, 'pushServices', 'logging', 'redactSubscriptions']),
        exampleUsers,
        vapidPublicKey: vapidKeys.publicKey,
        sessionKey,
        sendCommand: sendCommandFor(configuration, flags, context),
        receiptKey: configuration.receipts ? opened.receiptKey : undefined,
        subscriberTokens,
        log,
        readWarnings: async () => (await readWarnings()).map(({ code }) => code),
      });
      const access = await readListenerAccess(configuration.operator, configuration);
      const readMachine = machineFiguresReader(configuration, access?.tls?.cert);
      const bellsAccess = await readListenerAccess(configuration.bells, configuration);
      const metrics =
        access &&
        createMetrics(store, { pushServices: configuration.pushServices, readWarnings, readMachine });
      if (metrics !== undefined) countRegistrations(server, prefix, metrics);
      const needsSender = configuration.deliver || (access ?? bellsAccess) !== undefined;
      const onFigures = metrics?.recordFigures;
      const writeMessages: MessageLog['write'] = (records) => {
        for (const record of records) log.info(messageEvent(record));
      };
      const sender = needsSender
        ? await openSender(configuration, opened, context, { onWarning, onFigures, writeMessages })
        : undefined;
      let operator: OpenOperator | undefined;
      let bells: OpenOperator | undefined;
      let webhook: Awaited<ReturnType<typeof openWebhook>>;
      let closing: Promise<unknown> | undefined;
      const close = (): Promise<unknown> =>
        (closing ??= Promise.all([operator, bells, webhook, sender, server].map((part) => part?.close())));
      try {
        const { bellsPerMinute, bellsUrl } = configuration;
        if (bellsUrl !== undefined && bellsAccess === undefined && !/\/ring\/*$/.test(bellsUrl))
          onWarning(
            `--bells-url is ${bellsUrl}, but the operator’s listener has bells at /ring: end it with /ring, or have the proxy add that.`,
          );
        if (sender && metrics && access) {
          const defaultTitle = hostTitle(configuration);
          const parts = { sender, metrics, log, readWarnings, defaultTitle, bellsPerMinute, bellsUrl };
          operator = await openOperator(access, opened, parts);
          webhook = await openWebhook(configuration, opened, log, environment);
          await noteOperatorAddress(data, operator.address);
        }
        if (sender && bellsAccess)
          bells = await openBells(bellsAccess, { store, sender, log, bellsPerMinute });
        const address = `${await listenAt(server, { host, port }, '--port')}${prefix}`;
        await output.result(
          flags,
          { address, pushOnly, operator: operator?.address, bells: bells?.address },
          `Deskbell listens on ${output.style('bold', address)} (${pushOnly ? 'push only' : 'with demonstration endpoints'})`,
        );
        if (registrations === 'invited' && !flags.json) {
          await output.line(
            `Only invited browsers are registered; to invite one: ${createCommandHint(context, flags)('invite me')}`,
          );
        }
        if (operator !== undefined && !flags.json) {
          await output.line(`The operator’s listener is at ${output.style('bold', operator.address)}`);
        }
        if (bells !== undefined && !flags.json)
          await output.line(`Bells are at ${output.style('bold', bells.address)}`);
        if (sender !== undefined && !configuration.deliver && !flags.json) {
          const others = await store.senders.list();
          if (!others.some(({ kind }) => kind === 'worker'))
            await output.line('Nothing delivers here: add --deliver, or start "deskbell worker".');
        }
        // close the listeners at once: requests that wait for a message to be sent end only when the closing sender
        // gives up
        stop.addEventListener('abort', () => void close().catch(() => {}));
        const onError = (error: unknown): void =>
          log.error({ event: 'retention interrupted', detail: formatError(error) });
        await underSystemd(context, onWarning, () =>
          withRetention(store, configuration, onError, () => {
            const report = logDelivery(log, createEndpointPolicy(configuration.pushServices).isUnlisted);
            if (sender === undefined || !configuration.deliver)
              return withReport(store, report, { delivers: false, work: () => untilStopped(stop) });
            const worker = { event: 'worker', machine: hostname(), processId: process.pid };
            const work = async (onFault: (error: unknown) => void): Promise<void> => {
              log.info({ ...worker, state: 'started', threads: configuration.threads });
              await sender.work(stop, onFault);
              log.info({ ...worker, state: 'stopped' });
            };
            return withReport(store, report, { delivers: true, work });
          }),
        );
      } finally {
        await close();
        exampleUsers?.close();
        log.close();
      }
    });
  });
}

/** The command that the demo page shows. It contains local paths, so only visitors on this machine may see it. */
function sendCommandFor(configuration: Configuration, flags: object, context: Context): string | undefined {
  const { host, trustProxy } = configuration;
  if (!isLoopback(host) || trustProxy.length > 0) return undefined;
  const command = createCommandHint(context, flags)('send');
  return contactOf(configuration) === undefined ? `${command} --subject mailto:you@example.org` : command;
}

function reopen(log: OpenLog, { output }: Context): void {
  try {
    log.reopen();
  } catch (error) {
    log.error({ event: 'log file not reopened', detail: formatError(error) });
    output.diagnostic(formatError(error));
  }
}
