// Whom every sender sends to: subscriptions of which no two are alike. Every thousandth belongs to a sample: its
// messages end at a server that reads them.
import { createECDH, randomBytes } from 'node:crypto';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/open-store.ts';
import type { ListedSubscription } from './message.ts';

const sampleEvery = 1000;

export interface Subscriber {
  /** Of the endpoint: as long as the push services make them. */
  readonly path: string;
  readonly p256dh: string;
  readonly auth: string;
  /** 32 bytes; for subscribers of the sample. */
  readonly privateKey?: Buffer;
}

/** The same subscriptions as a database, for broadcasts, and as a list, for senders of single messages. */
export interface Workload {
  readonly count: number;
  readonly samples: number;
  readonly databasePath: string;
  readonly listPath: string;
}

export function makeSubscribers(count: number): readonly Subscriber[] {
  const ecdh = createECDH('prime256v1');
  return Array.from({ length: count }, (_, index) => {
    const p256dh = ecdh.generateKeys('base64url');
    const auth = randomBytes(16).toString('base64url');
    const token = randomBytes(105).toString('base64url');
    if (index % sampleEvery !== 0) return { path: `/push/${token}`, p256dh, auth };
    return { path: `/sample/${token}`, p256dh, auth, privateKey: ecdh.getPrivateKey() };
  });
}

export async function writeWorkload(
  folder: string,
  origin: string,
  subscribers: readonly Subscriber[],
  vapidPublicKey: string,
): Promise<Workload> {
  const name = `${new URL(origin).port}-${subscribers.length}`;
  const databasePath = join(folder, `${name}.db`);
  const store = await openSqliteStore({ path: databasePath });
  const rowsAtOnce = 5000;
  for (let start = 0; start < subscribers.length; start += rowsAtOnce) {
    const rows = subscribers.slice(start, start + rowsAtOnce).map(({ path, p256dh, auth }) => ({
      subscription: {
        endpoint: origin + path,
        p256dh: Buffer.from(p256dh, 'base64url'),
        auth: Buffer.from(auth, 'base64url'),
      },
      vapidPublicKey,
    }));
    await store.subscriptions.putAll(rows);
  }
  await store.close();

  const listPath = join(folder, `${name}.jsonl`);
  const list = subscribers.map(({ path, p256dh, auth }) => {
    const listed: ListedSubscription = { endpoint: origin + path, keys: { p256dh, auth } };
    return `${JSON.stringify(listed)}\n`;
  });
  await writeFile(listPath, list.join(''));
  return firstOf({ count: subscribers.length, samples: 0, databasePath, listPath }, subscribers.length);
}

/** For senders that are given the list. */
export function firstOf(workload: Workload, count: number): Workload {
  return { ...workload, count, samples: Math.ceil(count / sampleEvery) };
}

/** A broadcast leaves traces in its database: every run gets one that no run has seen. */
export async function copyDatabase({ databasePath }: Workload, folder: string): Promise<string> {
  const copy = join(folder, 'run.db');
  await copyFile(databasePath, copy);
  return copy;
}
