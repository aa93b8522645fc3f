// The console over a store, and how long its pages take, as an operator who has signed in asks for them.
import type { AddressInfo } from 'node:net';
import { createSender } from '../../src/delivery/sender.ts';
import { generateOperatorToken } from '../../src/keys/secret-files.ts';
import { createOperator } from '../../src/operator/create-operator.ts';
import { createMetrics } from '../../src/operator/metrics/metrics.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import type { Store } from '../../src/store/store.ts';

export interface ConsoleSite {
  /** @returns the least of several times in milliseconds, by the address of each page */
  measurePages(): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}

const warmUps = 6;
const measured = 15;

/** Lists with their filters, and what is asked for by more than a path. */
const queries: readonly string[] = [
  '/console/',
  '/console/?range=week',
  '/console/broadcasts?state=paused',
  '/console/broadcasts?text=offer+1',
  '/console/broadcasts/{past}?outcome=rejected',
  '/console/broadcasts/{open}?user=user-3',
  '/console/subscriptions?user=user-3',
  '/console/subscriptions?tagsAll=news',
  '/console/subscriptions?tagsAll=rare',
  '/console/subscriptions?pushService=fcm.googleapis.com',
  '/console/subscriptions?pushService=updates.push.services.mozilla.com&tagsAll=rare',
  '/console/subscriptions?pushService=nobody.example',
  '/console/audit?operator=shop',
  '/console/audit?action=broadcast.cancel',
];

export async function startConsole(store: Store): Promise<ConsoleSite> {
  const sender = createSender({
    vapid: { ...generateVapidKeys(), subject: 'mailto:you@example.org' },
    store,
    threads: 0,
  });
  const where = { host: '127.0.0.1', port: 0 };
  const log = { info: () => {}, error: (record: object) => console.error(record) };
  const metrics = createMetrics(store);
  const app = createOperator({ store, sender, log, metrics, hashPerson: String, ...where });
  const found: string[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    // no files, no streams
    if (method === 'GET' && /^\/console\/(?!live|sign-in|session)[^.]*$/.test(url)) found.push(url);
  });
  await app.listen(where);
  const base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const cookie = await signIn(base, store);

  const open = async (path: string): Promise<boolean> => {
    const response = await fetch(base + path, { headers: { cookie }, redirect: 'manual' });
    await response.text();
    return response.ok;
  };
  return {
    measurePages: async () => {
      const ids = await exampleIds(store);
      const least = new Map<string, number>();
      for (const path of [...found.map(withNames), ...queries]) {
        const address = path.replaceAll(/\{(\w+)\}/g, (_, name: keyof typeof ids) => String(ids[name]));
        for (let round = -warmUps; round < measured; round += 1) {
          const startedAt = performance.now();
          const isThere = await open(address);
          if (!isThere) {
            console.log(`${path} shows nothing here, and is left out.`);
            break;
          }
          const ms = performance.now() - startedAt;
          if (round >= 0) least.set(path, Math.min(least.get(path) ?? Number.POSITIVE_INFINITY, ms));
        }
      }
      return least;
    },
    close: async () => {
      await app.close();
      await sender.close();
    },
  };
}

/** The same name for the same kind of page, whichever id it has. */
const withNames = (url: string): string =>
  url
    .replace('/broadcasts/:id', '/broadcasts/{open}')
    .replace(/\/people(?=\/|$).*$/, (path) => `${path}?user=user-3`)
    .replaceAll(/:\w+/g, '1');

async function exampleIds({ broadcasts }: Store): Promise<{ readonly open: number; readonly past: number }> {
  const [open] = await broadcasts.listOpen(1);
  return { open: open!.id, past: 1 };
}

async function signIn(base: string, { operators }: Store): Promise<string> {
  const { token, tokenHash } = generateOperatorToken();
  await operators.remove('bench');
  await operators.add({ name: 'bench', role: 'full', tokenHash });
  const body = new URLSearchParams({ token });
  const headers = { origin: base };
  const response = await fetch(`${base}/console/sign-in`, {
    method: 'POST',
    headers,
    body,
    redirect: 'manual',
  });
  return response.headers.getSetCookie()[0]!.split(';')[0]!;
}
