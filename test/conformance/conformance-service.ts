// What the conformance suite is run against: the service as `deskbell serve` puts it together, on a data directory of
// its own, with the local push service and a user agent at the other end.
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createSender } from '../../src/delivery/sender.ts';
import { createUserAgent, startPushService } from '../../src/push-service/index.ts';
import { createServer } from '../../src/service/create-service.ts';
import type { ServerOptions } from '../../src/service/options.ts';
import { createSessionCookie } from '../../src/service/demonstration/session.ts';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { fastFolder } from '../../tools/fast-folder.ts';
import { recordingLog } from '../service/running-service.ts';

export type ConformanceService = Awaited<ReturnType<typeof startConformanceService>>;

export const contact = 'mailto:contact@deskbell.example';

export async function startConformanceService(options: Partial<ServerOptions> = {}, folder?: string) {
  const cleanUp = new AsyncDisposableStack();
  const directory = folder ?? (await mkdtemp(join(fastFolder(), 'deskbell-conformance-')));
  if (folder === undefined) cleanUp.defer(() => rm(directory, { recursive: true }));
  const data = await openDataDirectory(directory);
  cleanUp.defer(() => data.close());
  const pushService = await startPushService();
  cleanUp.defer(() => pushService.close());
  const userAgent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
  cleanUp.defer(() => userAgent.close());
  const pushServices = [pushService.origin];
  const sender = createSender({ vapid: { ...data.vapidKeys, subject: contact }, pushServices });
  cleanUp.defer(() => sender.close());

  const { records, log } = recordingLog();
  const app = createServer({
    store: data.store,
    vapidPublicKey: data.vapidKeys.publicKey,
    sessionKey: data.sessionKey,
    pushServices,
    registrationsPerMinute: 'off',
    log,
    ...options,
  });
  cleanUp.defer(() => app.close());
  const changingRoutes: string[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    const unsafe = [method].flat().filter((name) => !['GET', 'HEAD', 'OPTIONS'].includes(name));
    changingRoutes.push(...unsafe.map((name) => `${name} ${url}`));
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return {
    base,
    data,
    records,
    /** Method and path of every route that takes an unsafe method, described or not. */
    changingRoutes,
    userAgent,
    sender,
    session: await createSessionCookie({ sessionKey: data.sessionKey, value: 'ada' }),
    /** A request to the service; a body is sent as JSON. */
    ask: (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      fetch(base + path, {
        method,
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    [Symbol.asyncDispose]: () => cleanUp.disposeAsync(),
  };
}

/** The three strings of a new subscription as the specification's client sends them: standard base64, padded. */
export async function subscribe({ userAgent, data }: ConformanceService) {
  const { endpoint, p256dh, auth } = await userAgent.subscribe(data.vapidKeys.publicKey);
  return { endpoint, p256dh: toStandardBase64(p256dh), auth: toStandardBase64(auth) };
}

function toStandardBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('base64');
}
