// All of Deskbell that is on the server's side of a browser test: a real store, the real service, the real sender.
import { createECDH, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttpServer, type Server } from 'node:http';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Channel } from '../../src/audience/channels.ts';
import { databasePathOf, openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { retireKey, rotateKeys } from '../../src/cli/data/key-rotation.ts';
import { totalReceipts } from '../../src/delivery/broadcast/format-broadcast.ts';
import type { BroadcastOptions } from '../../src/delivery/broadcast/create-broadcast.ts';
import { createSender, type SenderOptions } from '../../src/delivery/sender.ts';
import { loadOrCreateKeyFile } from '../../src/keys/vapid-key-files.ts';
import { createServer } from '../../src/service/create-service.ts';
import type { ServerOptions } from '../../src/service/options.ts';
import { createSubscriberToken } from '../../src/service/push/subscriber-token.ts';
import { hashInvitation } from '../../src/store/invitations.ts';
import type { StoredSubscription } from '../../src/store/subscriptions.ts';
import type { Message } from '../../src/protocol/message/message.ts';
import { generateVapidKeys, type VapidKeys } from '../../src/protocol/vapid.ts';
import { fastFolder } from '../fast-folder.ts';
import { claimPort } from '../listening.ts';
import { createSqliteFile } from '../new-sqlite-file.ts';

/** How the sender and the service get to the push service of a test. */
export type PushServiceAccess = Pick<SenderOptions, 'pushServices' | 'ca' | 'connectOverride'>;

export interface Backend extends AsyncDisposable {
  /** Another origin for each backend, so that no test sees what the browser keeps of another. */
  readonly url: string;
  subscriptions(): Promise<readonly StoredSubscription[]>;
  addChannel(channel: Channel): Promise<unknown>;
  /** Makes a subscriber token, as the backend of an application does. */
  createToken(user: string, tags?: readonly string[]): Promise<string>;
  /** @returns the link, as `deskbell invite` prints it */
  invite(user: string): Promise<string>;
  /** The bodies of POST /webPush, as browsers sent them. */
  readonly registrations: readonly unknown[];
  /** What page libraries and service workers asked the service, in order, with the cookies that they sent. */
  readonly clientRequests: readonly ClientRequest[];
  /** Stores other keys for an endpoint, as import and other server-side code may. */
  replaceKeys(endpoint: string): Promise<void>;
  /** Somebody else registers the endpoint of the next POST just before it, with other keys. */
  takeNextEndpoint(): void;
  /** Loses a row, as a restored backup does. */
  forget(id: number): Promise<void>;
  /** Broadcasts to every row, and counts the outcomes that there were. */
  sendToAll(message: Message, options?: BroadcastOptions): Promise<Readonly<Record<string, number>>>;
  /** The same, asking for receipts. @returns the broadcast's ID */
  sendWithReceipts(message: Message): Promise<number>;
  /** What the browsers have reported of it. */
  receipts(broadcastId: number): Promise<ReturnType<typeof totalReceipts>>;
  sendTo(subscription: StoredSubscription, message: Message): Promise<string>;
  /** Sends a payload that no `Message` has. */
  sendPayload(subscription: StoredSubscription, payload: Uint8Array): Promise<string>;
  stopService(): Promise<void>;
  startService(): Promise<void>;
  /**
   * Puts a server in the service's place that answers 500 to everything, until `startService`.
   *
   * @returns the requests that it gets, such as "GET /vapidKey"
   */
  startOutage(): Promise<readonly string[]>;
  /** From now on with another VAPID pair. */
  changeKeys(): Promise<void>;
  /** Makes a new pair current beside the former one, while service and sender run. */
  rotateKeys(): Promise<void>;
  /** @throws {DeskbellError} ERR_KEY_IN_USE */
  retireKey(publicKey: string): Promise<void>;
}

export interface ClientRequest {
  /** Such as "POST /webPush". */
  readonly request: string;
  readonly cookies: string;
  readonly status: number;
}

const audience = 'browser-test';
/** Of every backend's service. */
export const sessionKey = new Uint8Array(32);

interface BackendOptions extends Pick<ServerOptions, 'prefix' | 'pushOnly' | 'registrations' | 'channels'> {
  /** Of the service; by default the system picks one. */
  readonly port?: number;
}

export async function startBackend(
  access: PushServiceAccess,
  { port = 0, prefix = '', ...serviceOptions }: BackendOptions = {},
): Promise<Backend> {
  const folder = await mkdtemp(join(fastFolder(), 'deskbell-browser-'));
  // the key file first, as in a first run that was cut short: making the tables takes thirty times as long as to copy them
  await loadOrCreateKeyFile(folder);
  await createSqliteFile(databasePathOf(folder));
  const data = await openDataDirectory(folder);
  const { store, receiptKey } = data;
  let keys: VapidKeys = data.vapidKeys;
  let sender = createSender(senderOptions());
  let service: FastifyInstance | undefined;
  let outage: Server | undefined;
  const registrations: unknown[] = [];
  const clientRequests: ClientRequest[] = [];
  let isNextTaken = false;

  function senderOptions(): SenderOptions {
    return { vapid: { ...keys, subject: 'mailto:ops@example.org' }, store, receiptKey, ...access };
  }

  const backend: Backend = {
    registrations,
    clientRequests,
    get url() {
      return `http://localhost:${port}${prefix}/`;
    },
    addChannel: (channel) => store.channels.put(channel),
    createToken: async (user, tags) =>
      createSubscriberToken({ key: await data.subscriberTokenKey(), audience, user, tags }),
    async invite(user) {
      const token = randomBytes(16).toString('base64url');
      await store.invitations.add({ tokenHash: hashInvitation(token), user });
      return `${backend.url}#invitation=${token}`;
    },
    subscriptions: () => store.subscriptions.page({ afterId: 0, limit: 100 }),
    async replaceKeys(endpoint) {
      const p256dh = createECDH('prime256v1').generateKeys();
      await store.subscriptions.put({ endpoint, p256dh, auth: randomBytes(16) }, keys.publicKey);
    },
    takeNextEndpoint() {
      isNextTaken = true;
    },
    async forget(id) {
      await store.subscriptions.removeById(id);
    },
    async sendWithReceipts(message) {
      const { broadcast, finished } = await sender.broadcast('all', message, { receipts: true });
      await finished;
      return broadcast.id;
    },
    receipts: async (broadcastId) => totalReceipts((await store.broadcasts.find(broadcastId))!),
    async sendToAll(message, options) {
      const { counts } = await (await sender.broadcast('all', message, options)).finished;
      return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
    },
    sendTo: async (subscription, message) => (await sender.send(subscription, message)).outcome.kind,
    sendPayload: async (subscription, payload) =>
      (await sender.sendPayload(subscription, payload)).outcome.kind,
    async stopService() {
      outage?.closeAllConnections();
      outage?.close();
      outage = undefined;
      service?.server.closeAllConnections();
      await service?.close();
      service = undefined;
    },
    async startOutage() {
      await backend.stopService();
      const requests: string[] = [];
      outage = createHttpServer((request, response) => {
        requests.push(`${request.method} ${pathOf(request.url)}`);
        response.writeHead(500).end('"not a key"');
      });
      outage.listen(port, '127.0.0.1');
      await once(outage, 'listening');
      return requests;
    },
    async startService() {
      await backend.stopService();
      service = createServer({
        ...serviceOptions,
        store,
        prefix,
        vapidPublicKey: keys.publicKey,
        sessionKey,
        pushServices: [access.pushServices ?? []].flat(),
        registrationsPerMinute: 'off',
        receiptKey,
        subscriberTokens: { algorithm: 'HS256', key: await data.subscriberTokenKey(), audience },
        log: { info: () => undefined, error: (record) => console.error(record) },
      });
      service.addHook('preHandler', async ({ method, body }) => {
        if (method !== 'POST') return;
        registrations.push(body);
        if (isNextTaken) await backend.replaceKeys((body as { endpoint: string }).endpoint);
        isNextTaken = false;
      });
      service.addHook('onResponse', async ({ method, url, headers: { cookie = '' } }, { statusCode }) => {
        const path = pathOf(url);
        if (!/\/(?:vapidKey|webPush.*)$/.test(path)) return;
        clientRequests.push({ request: `${method} ${path}`, cookies: cookie, status: statusCode });
      });
      await service.listen({ host: '127.0.0.1', port });
      if (port !== 0) return;
      port = claimPort(service.server) ?? 0;
      if (port === 0) await backend.startService();
    },
    async changeKeys() {
      await backend.stopService();
      await sender.close();
      keys = generateVapidKeys();
      sender = createSender(senderOptions());
      await backend.startService();
    },
    async rotateKeys() {
      await rotateKeys(folder, store);
    },
    async retireKey(publicKey) {
      await retireKey(folder, store, publicKey, { force: false });
    },
    async [Symbol.asyncDispose]() {
      await backend.stopService();
      await sender.close();
      await data.close();
      await rm(folder, { recursive: true });
    },
  };
  await backend.startService();
  return backend;
}

/** Without the query, by which the client keeps its requests out of caches. */
const pathOf = (url = ''): string => url.split('?', 1)[0]!;
