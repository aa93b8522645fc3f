// Deskbell as a user has it, by its public entries: a broadcast from the store, through threads, with commits; single
// messages like everyone else's; and what stands in for `web-push`.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Deskbell from '../../src/index.ts';
import type * as WebPush from '../../src/web-push/index.ts';
import { readList, sendInFlight, type Prepared } from './in-flight.ts';
import type { Job } from './job.ts';
import { message, payload, ttlSeconds } from './message.ts';

export async function prepareSender(job: Job): Promise<Prepared> {
  if (job.sender === 'deskbell/web-push') return prepareWebPush(job);
  const entry = pathToFileURL(join(job.packageFolder, 'dist/index.js')).href;
  const deskbell = (await import(entry)) as typeof Deskbell;
  const ca = [await readFile(job.certificatePath, 'utf8')];
  const { encryption = 'multi-buffer' } = job;
  const options = { vapid: job.vapid, pushServices: [job.origin], ca, encryption };
  if (job.sender === 'deskbell broadcast') return prepareBroadcast(deskbell, options, job);
  if (job.sender === 'deskbell send') return prepareSingle(deskbell, options, job);
  throw new Error(`There is no sender ${job.sender}.`);
}

async function prepareBroadcast(
  { createSender, openSqliteStore }: typeof Deskbell,
  options: Deskbell.SenderOptions,
  { databasePath, threads }: Job,
): Promise<Prepared> {
  const store = await openSqliteStore({ path: databasePath });
  const sender = createSender({ ...options, store, threads });
  return {
    async send() {
      const { finished } = await sender.broadcast('all', message, { ttlSeconds });
      return (await finished).counts.accepted;
    },
    async close() {
      await sender.close();
      await store.close();
    },
  };
}

async function prepareSingle(
  { createSender }: typeof Deskbell,
  options: Deskbell.SenderOptions,
  job: Job,
): Promise<Prepared> {
  const list = await readList(job);
  const sender = createSender(options);
  return {
    send: () =>
      sendInFlight(list, job.inFlight, async (subscription) => {
        const { response } = await sender.send(subscription, message, { ttlSeconds });
        return response?.status;
      }),
    close: () => sender.close(),
  };
}

/** Called exactly as `web-push` is; it trusts the push service's certificate by NODE_EXTRA_CA_CERTS, too. */
async function prepareWebPush(job: Job): Promise<Prepared> {
  const entry = pathToFileURL(join(job.packageFolder, 'dist/web-push/index.js')).href;
  const { sendNotification } = (await import(entry)) as typeof WebPush;
  const list = await readList(job);
  const options = { vapidDetails: job.vapid, TTL: ttlSeconds };
  return {
    send: () =>
      sendInFlight(
        list,
        job.inFlight,
        async (subscription) => (await sendNotification(subscription, payload, options)).statusCode,
      ),
    close: async () => {},
  };
}
