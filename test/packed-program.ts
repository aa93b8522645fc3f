// A program of a user of the packed package, to be compiled and to be run.

/** What a user's program may look like; every entry is used with its types. */
export const program = `
import { createSender, openDataDirectory, DeskbellError } from 'deskbell';
import type { Outcome, Sender, Store, Subscription } from 'deskbell';
import { createService, createServer, createSessionCookie } from 'deskbell/service';
import type { ServiceOptions } from 'deskbell/service';
import { encryptPushMessage, generateVapidKeys, maxPlaintextBytes, parseSubscription } from 'deskbell/protocol';
import type { VapidKeys } from 'deskbell/protocol';
import * as client from 'deskbell/client';
import { startPushService } from 'deskbell/push-service';
import type { PushService } from 'deskbell/push-service';
import webPush, { sendNotification, type RequestOptions } from 'deskbell/web-push';

const keys: VapidKeys = generateVapidKeys();
const sender: Sender = createSender({ vapid: { ...keys, subject: 'mailto:push@example.org' } });
const pushService: PushService = await startPushService();
const data = await openDataDirectory('data');
const store: Store = data.store;
const options: ServiceOptions = { store, vapidPublicKey: keys.publicKey, sessionKey: data.sessionKey };
const pushOptions: RequestOptions = { TTL: 60, vapidDetails: { subject: 'mailto:a@example.org', ...webPush.generateVAPIDKeys() } };
const server = createServer(options);
await server.ready();
const cookie: string = (await createSessionCookie({ sessionKey: data.sessionKey, value: 'x' })).cookie;
const bytes: number = maxPlaintextBytes;
const describe = (outcome: Outcome): string => outcome.kind;
const encrypt: (plaintext: Uint8Array, subscription: Subscription) => Uint8Array = encryptPushMessage;
// @ts-expect-error The types are there: a number is no title.
const wrong = (): unknown => sender.send({ endpoint: '', p256dh: '', auth: '' }, { title: 1, message: '' });

await server.close();
await data.close();
await pushService.close();
await sender.close();
const used = [createService, sendNotification, pushOptions, parseSubscription, DeskbellError, client, cookie, bytes, describe, encrypt, wrong];
console.log('imported', used.length);
`;
