// What each of these applications does: a browser registers, a message is sent to it, and a broadcast to all.
import { readFileSync } from 'node:fs';
import { createSender, DeskbellError, openDataDirectory } from 'deskbell';
import { createEndpointPolicy, parseSubscription } from 'deskbell/protocol';
import { createHandler } from 'deskbell/service';
import webPush from 'deskbell/web-push';

interface PushService {
  readonly origin: string;
  readonly ca: string[];
  readonly sinks: readonly { readonly endpoint: string; readonly p256dh: string; readonly auth: string }[];
}

/** Of environment variables: PUSH_SERVICE is a file that describes a `PushService`; DATABASE is empty for SQLite. */
export async function push(): Promise<object> {
  const { PUSH_SERVICE = '', DATA = '', DATABASE } = process.env;
  const { origin, ca, sinks } = JSON.parse(readFileSync(PUSH_SERVICE, 'utf8')) as PushService;
  const [{ endpoint, ...keys }, ...others] = sinks as [PushService['sinks'][number], ...PushService['sinks']];
  const data = await openDataDirectory(DATA, DATABASE ? { database: DATABASE } : {});
  const { store, vapidKeys, sessionKey } = data;
  const vapid = { ...vapidKeys, subject: 'mailto:push@example.org' };
  const pushServices = [origin];
  const warnings: string[] = [];
  const onWarning = (warning: string): void => void warnings.push(warning);
  const sender = createSender({ store, vapid, pushServices, ca, threads: 1, onWarning });
  const options = { store, vapidPublicKey: vapid.publicKey, sessionKey, pushServices };
  const handler = createHandler({ ...options, pushOnly: true, registrationsPerMinute: 'off' });
  try {
    const headers = { 'content-type': 'application/json', 'deskbell-vapid-key': vapid.publicKey };
    const body = JSON.stringify({ endpoint, keys });
    const registered = await handler(
      new Request('http://localhost/webPush', { method: 'POST', headers, body }),
    );
    await store.subscriptions.putAll(
      others.map(({ endpoint: address, p256dh, auth }) => ({
        subscription: {
          endpoint: address,
          p256dh: Buffer.from(p256dh, 'base64url'),
          auth: Buffer.from(auth, 'base64url'),
        },
        vapidPublicKey: vapid.publicKey,
      })),
    );
    const message = { title: 'Hello', message: 'Tea is ready' };
    const { outcome } = await sender.send({ endpoint, keys }, message);
    // the second one has nothing to say any more
    const accepted: number[] = [];
    for (let count = 0; count < 2; count += 1) {
      const { finished } = await sender.broadcast('all', message);
      accepted.push((await finished).counts.accepted);
    }
    webPush.setVapidDetails(vapid.subject, vapid.publicKey, vapid.privateKey);
    const { statusCode } = await webPush.sendNotification({ endpoint, keys }, 'Hello');
    return {
      registered: registered.status,
      sent: outcome.kind,
      accepted,
      webPush: statusCode,
      isOneClass: isFault(() => parseSubscription({}, createEndpointPolicy())),
      warnings,
    };
  } finally {
    await handler.close();
    await sender.close();
    await data.close();
  }
}

function isFault(call: () => unknown): boolean {
  try {
    call();
    return false;
  } catch (error) {
    return error instanceof DeskbellError;
  }
}
