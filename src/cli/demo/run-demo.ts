// The demo: one notification from end to end on loopback. It runs a push service, the service with a new database, a
// user agent and the sender. The user agent's decryption and the sender's encryption are separate implementations.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { formatEvent, formatReachability } from '../../delivery/broadcast/watch.ts';
import { createSender, type Sender } from '../../delivery/sender.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Log } from '../../http/log.ts';
import { generateOperatorToken } from '../../keys/secret-files.ts';
import { createMetrics } from '../../operator/metrics/metrics.ts';
import {
  createUserAgent,
  type ReceivedMessage,
  type UserAgent,
} from '../../push-service/browser-side/user-agent.ts';
import { startPushService } from '../../push-service/start-push-service.ts';
import { createServer } from '../../service/create-service.ts';
import type { Context } from '../command.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import { withData } from '../data/open-data.ts';
import { quote } from '../output/command-hint.ts';
import type { Output } from '../output/output.ts';
import { listenAt, untilStopped } from '../serve/listening.ts';
import { openOperator } from '../serve/open-operator.ts';
import { type DeliveryReport, withReport } from '../serve/report-delivery.ts';

const host = '127.0.0.1';
const usualPort = 8081;

/** Delivers, and opens the operator's listener on the usual port, or on a free one. */
async function openDemoOperator(
  open: AsyncDisposableStack,
  data: DataDirectory,
  sender: Sender,
  log: Log,
  onEvent: DeliveryReport['event'],
) {
  const { token, tokenHash } = generateOperatorToken();
  await data.store.operators.add({ name: 'demo', role: 'full', tokenHash });
  const stop = new AbortController();
  const report: DeliveryReport = {
    event: onEvent,
    reachability: (event) => log.error({ event: 'push service', detail: formatReachability(event) }),
    error: (error) => log.error({ event: 'delivery interrupted', error }),
  };
  const delivery = withReport(data.store, report, {
    delivers: true,
    work: (onFault) => sender.work(stop.signal, onFault),
  });
  open.defer(() => {
    stop.abort();
    return delivery;
  });
  const metrics = createMetrics(data.store);
  const listen = (port: number) => openOperator({ host, port }, data, { sender, log, metrics });
  const listener = await listen(usualPort).catch((error: unknown) => {
    if (error instanceof DeskbellError && error.code === 'ERR_LISTEN') return listen(0);
    throw error;
  });
  return { address: open.use(listener).address, token };
}

export interface DemoOptions {
  readonly isOnce: boolean;
  /** Default: 8080, or a free port if 8080 is in use. With `isOnce`, the default is a free port. */
  readonly port?: number | undefined;
}

type Tell = (party: string, what: string) => Promise<void>;

const subject = 'mailto:demo@example.org';
const firstMessage = { title: 'Ding dong', message: 'This notification was delivered from end to end.' };

export async function runDemo(context: Context, options: DemoOptions): Promise<void> {
  await using open = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-demo-'));
  open.defer(() => rm(folder, { recursive: true }));
  await withData({ data: folder, database: undefined }, {}, (data) => runIn(folder, data, context, options));
}

async function runIn(
  folder: string,
  data: DataDirectory,
  context: Context,
  options: DemoOptions,
): Promise<void> {
  const { output, stopPrinting } = context;
  const startedAt = performance.now();
  const tell: Tell = async (party, what) => {
    const elapsedMs = (performance.now() - startedAt).toFixed(0).padStart(5);
    await output.line(
      `${output.style('dim', `${elapsedMs} ms`)}  ${output.style('cyan', party.padEnd(12))}  ${what}`,
    );
  };
  await using open = new AsyncDisposableStack();
  const pushService = open.use(await startPushService());
  await tell('push service', `listens on ${pushService.origin}`);

  // The demo's page shows a command that uses this file, so the file must exist first.
  const config = join(folder, 'deskbell.json');
  await writeFile(config, JSON.stringify({ data: '.', subject, pushServices: [pushService.origin] }));
  const sendCommand = `${context.invocation} send --config ${quote(config)}`;
  const address = await serve(open, data, pushService.origin, options, sendCommand, tell, output);
  await tell(
    'service',
    `listens on ${output.style('bold', address)}, with a new key pair and an empty database`,
  );

  const userAgent = open.use(await createUserAgent({ webSocketUrl: pushService.webSocketUrl }));
  const endpoint = await subscribe(userAgent, address, tell);

  const sender = createSender({
    vapid: { ...data.vapidKeys, subject },
    pushServices: [pushService.origin],
    store: data.store,
    threads: 0,
  });
  open.defer(() => sender.close());
  await send(sender, data, endpoint, tell);
  await show(await userAgent.nextMessage(), context, tell);
  if (options.isOnce) return;

  const operator = await openDemoOperator(open, data, sender, logTo(output), (event) =>
    tell('sender', formatEvent(event)),
  );
  await output.line(describeNext(address, sendCommand, operator));
  await Promise.race([untilStopped(stopPrinting), showAll(userAgent, context, tell)]);
}

/** @returns the address */
async function serve(
  open: AsyncDisposableStack,
  { store, vapidKeys, sessionKey }: DataDirectory,
  pushService: string,
  { isOnce, port }: DemoOptions,
  sendCommand: string,
  tell: Tell,
  output: Output,
): Promise<string> {
  const listen = (wanted: number): Promise<string> => {
    const server = createServer({
      store,
      vapidPublicKey: vapidKeys.publicKey,
      sessionKey,
      sendCommand,
      pushServices: [pushService],
      logging: [],
      log: logTo(output),
      onSubscribe: ({ endpoint }) =>
        tell('service', `checks the subscription of ${new URL(endpoint).origin} and stores it`),
    });
    open.defer(() => server.close());
    return listenAt(server, { host, port: wanted }, '--port');
  };
  return listen(port ?? (isOnce ? 0 : 8080)).catch((error: unknown) => {
    if (port !== undefined) throw error;
    return listen(0);
  });
}

/** Subscribes as the page does in a browser. Resolves to the endpoint. */
async function subscribe(userAgent: UserAgent, address: string, tell: Tell): Promise<string> {
  const vapidKey = (await (await fetch(`${address}/vapidKey`)).json()) as string;
  await tell('user agent', `calls GET /vapidKey and gets ${vapidKey.slice(0, 8)}…${vapidKey.slice(-4)}`);
  const subscription = await userAgent.subscribe(vapidKey);
  await tell('user agent', 'subscribes at the push service with that key');
  await tell('user agent', 'sends its subscription to POST /webPush');
  const response = await fetch(`${address}/webPush`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(subscription),
  });
  await tell('service', `answers ${response.status} ${await response.text()}`);
  return subscription.endpoint;
}

async function send(sender: Sender, { store }: DataDirectory, endpoint: string, tell: Tell): Promise<void> {
  const subscription = await store.subscriptions.findByEndpoint(endpoint);
  if (!subscription) throw new Error('the subscription that was acknowledged is not in the store');
  await tell('sender', 'reads the row, encrypts the message, signs a VAPID token and posts the message');
  const { outcome, response } = await sender.send(subscription, firstMessage);
  await tell('push service', `answers ${response?.status ?? 'nothing'}: ${outcome.kind}`);
}

async function show(message: ReceivedMessage, { output }: Context, tell: Tell): Promise<void> {
  await tell('user agent', 'receives the message and decrypts it');
  await output.line(`${output.style('bold', 'notification')} ${message.text()}`);
}

async function showAll(userAgent: UserAgent, context: Context, tell: Tell): Promise<void> {
  for await (const message of userAgent.messages) await show(message, context, tell);
}

const logTo = (output: Output): Log => ({
  info: () => {},
  error: (record) => output.diagnostic(inspect(record)),
});

const describeNext = (address: string, command: string, operator: Record<'address' | 'token', string>) => `
Send the next message from another terminal:

  ${command} --all --title Hello --message 'From another terminal'

The operator's console is at ${operator.address}/, its API at ${operator.address}/openapi.json, with this token:

  ${operator.token}

  curl -H 'authorization: Bearer ${operator.token}' ${operator.address}/v1/keys

Press Ctrl-C to end the demo and remove its data.

Now open the demo page in your browser: ${address}/`;
