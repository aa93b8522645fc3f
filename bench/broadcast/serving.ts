// `deskbell serve --deliver`, as it is published, and what one broadcast costs it: alone, or with the operator's side in use.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataDirectory } from '../../src/cli/data/data-directory.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { generateOperatorToken } from '../../src/keys/secret-files.ts';
import { cpuSecondsOf } from '../measure/process-usage.ts';
import { broadcastMessage, messageToReaders } from './message.ts';
import type { NginxSink } from './nginx-sink.ts';
import { until } from '../../tools/until.ts';

/** `again`: as `plain`. `receipts`: each row has a payload of its own. `readers`: the text of the reader's language, with a name in it.
 *  `operator`: metrics are scraped once a second, and the page of the broadcast is open. */
export const servingOptions = ['plain', 'again', 'receipts', 'readers', 'operator'] as const;
export type ServingOption = (typeof servingOptions)[number];

export interface ServedBroadcast {
  readonly seconds: number;
  /** Of the process that serves and delivers. */
  readonly cpuSeconds: number;
}

const program = join(import.meta.dirname, '../../dist/cli/main.cjs');
const subject = 'mailto:bench@example.org';
const longestBroadcastMs = 30 * 60 * 1000;

/** @throws {Error} where the service fails, or somebody did not get the message */
export async function serveBroadcast(
  directory: string,
  data: DataDirectory,
  { origin, caFile }: Pick<NginxSink, 'origin' | 'caFile'>,
  option: ServingOption,
): Promise<ServedBroadcast> {
  const own = ['--data', directory, '--subject', subject, '--push-services', origin, '--ca', caFile];
  const operator = option === 'operator' ? ['--operator', '127.0.0.1:0'] : [];
  const words = ['serve', '--push-only', '--json', '--port', '0', '--deliver', '--threads', '2'];
  const child = spawn(process.execPath, [program, ...words, ...own, ...operator], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const ended = new AbortController();
  try {
    const address = await operatorAddressOf(child);
    // the threads are up before the broadcast begins
    const isUp = async () =>
      (await data.store.senders.list()).some(({ processId }) => processId === child.pid);
    await until(isUp, 'the threads');
    const sender = createSender({
      receiptKey: data.receiptKey,
      store: data.store,
      vapid: { ...data.vapidKeys, subject },
      pushServices: [origin],
    });
    const cpuBefore = await cpuSecondsOf(child.pid ?? 0);
    const message = option === 'readers' ? messageToReaders : broadcastMessage;
    const { broadcast } = await sender.createBroadcast('all', message, {
      receipts: option === 'receipts',
    });
    const looking = address === undefined ? [] : await lookOn(address, data, broadcast.id, ended.signal);
    const done = await until(
      async () => {
        const found = await data.store.broadcasts.find(broadcast.id);
        return found?.state === 'done' && found;
      },
      'the end of the broadcast',
      longestBroadcastMs,
    );
    const cpuAfter = await cpuSecondsOf(child.pid ?? 0);
    await sender.close();
    ended.abort();
    await Promise.all(looking);
    if (done.counts.accepted !== done.recipients) throw new Error('Not everybody got the message.');
    return {
      seconds: ((done.finishedAtMs ?? 0) - broadcast.createdAtMs) / 1000,
      cpuSeconds: (cpuAfter ?? NaN) - (cpuBefore ?? NaN),
    };
  } finally {
    ended.abort();
    child.kill();
    await exited;
  }
}

/** The first line of its output says where it listens. @returns the operator's listener, where there is one */
async function operatorAddressOf(child: ChildProcess): Promise<string | undefined> {
  if (child.stdout === null) throw new Error('The service has no output.');
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, 'line')) as [string];
  // what it logs is read, so that it never waits for somebody who reads
  lines.on('line', () => {});
  return (JSON.parse(line) as { readonly operator?: string }).operator;
}

/** One who scrapes metrics each second, and a page of the console that shows the broadcast. */
async function lookOn(
  address: string,
  { store }: DataDirectory,
  broadcastId: number,
  signal: AbortSignal,
): Promise<readonly Promise<void>[]> {
  const { token, tokenHash } = generateOperatorToken();
  await store.operators.add({ name: `bench-${broadcastId}`, role: 'full', tokenHash });
  const signedIn = await fetch(`${address}/console/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ token }),
    headers: { origin: address },
  });
  const [cookie = ''] = signedIn.headers.getSetCookie()[0]?.split(';') ?? [];
  const scrape = async (): Promise<void> => {
    while (!signal.aborted) {
      const response = await fetch(`${address}/metrics`, { headers: { authorization: `Bearer ${token}` } });
      if (!response.ok) throw new Error(`/metrics answered ${response.status}.`);
      await response.text();
      await sleep(1000, undefined, { signal }).catch(() => {});
    }
  };
  const view = async (): Promise<void> => {
    for (let seen = ''; !signal.aborted;) {
      const response = await fetch(`${address}/console/live/broadcasts/${broadcastId}`, {
        headers: { cookie, 'deskbell-seen': seen },
      });
      ({ seen } = (await response.json()) as { readonly seen: string });
      await sleep(1000, undefined, { signal }).catch(() => {});
    }
  };
  return [scrape(), view()];
}
