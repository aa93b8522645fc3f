// Who takes part, in the order of a round. Those whose ratios count stand next to each other.
import type { Run } from './measure.ts';
import { versionOf, type Packages } from './packages.ts';
import { roundTripMs, type PushServices } from './push-services.ts';
import { firstOf, type Workload } from './workload.ts';

/** How many rounds, and how many messages in a run. */
export interface Size {
  readonly rounds: number;
  readonly webPush: number;
  readonly webPushFar: number;
  readonly otherSenders: number;
  readonly broadcast: number;
  /** The shorter ones of two runs, for the slope. */
  readonly short: number;
  /** Broadcasts without the accelerator, and Deskbell's single messages, `sendNotification` included. */
  readonly slower: number;
  readonly restless: number;
}

/** Runs of about ten seconds, the other senders' half of that: so no one has longer to warm up than `web-push`. */
const full: Size = {
  rounds: 3,
  webPush: 20_000,
  webPushFar: 10_000,
  otherSenders: 5000,
  broadcast: 120_000,
  short: 30_000,
  slower: 60_000,
  restless: 20_000,
};
const quick: Size = {
  rounds: 2,
  webPush: 5000,
  webPushFar: 2500,
  otherSenders: 1000,
  broadcast: 30_000,
  short: 7500,
  slower: 15_000,
  restless: 10_000,
};
export const sizes = { full, quick } as const;

export interface Entrant {
  readonly label: string;
  readonly run: Run;
  /** The same with fewer messages: what each further message costs, without the start. */
  readonly shorter?: Run;
}

/** `single` ones are handed one subscription after the other, as npm's are; `broadcast` ones read the store. */
export type EntrantId =
  | 'web-push'
  | 'web-push again'
  | 'web-push far'
  | 'web-push tuned'
  | 'web-push-neo'
  | 'block65'
  | 'pushforge'
  | 'broadcast accelerated'
  | 'broadcast openssl'
  | 'broadcast builtin'
  | 'broadcast by two'
  | 'broadcast relayed'
  | 'broadcast far'
  | 'single accelerated'
  | 'single builtin'
  | 'stand-in accelerated'
  | 'stand-in builtin';

export type Entrants = Partial<Record<EntrantId, Entrant>>;

/** Without a built accelerator nobody takes part with it. */
export async function listEntrants(
  { webPush, webPushFar, otherSenders, short, slower }: Size,
  { builtin, accelerated }: Packages,
  { near, far, relayed }: PushServices,
  workloads: Readonly<Record<'near' | 'nearSlower' | 'nearShort' | 'relayed' | 'far', Workload>>,
): Promise<Entrants> {
  const base = { packageFolder: builtin, origin: near, inFlight: 64, threads: 1, workload: workloads.near };
  const first = (count: number): Workload => firstOf(workloads.near, count);
  const webPushRun: Run = { ...base, sender: 'web-push', workload: first(webPush) };
  const webPushName = `web-push ${await versionOf('web-push')}`;
  const other = async (name: string): Promise<Entrant> => ({
    label: `${name} ${await versionOf(name)}`,
    run: { ...base, sender: name, workload: first(otherSenders) },
  });
  const broadcast: Run = { ...base, sender: 'deskbell broadcast' };
  const singles: Run = { ...base, sender: 'deskbell send', workload: first(slower) };
  const standIn: Run = { ...singles, sender: 'deskbell/web-push' };
  const best: Run = { ...broadcast, packageFolder: accelerated ?? builtin };

  return {
    'web-push': { label: `${webPushName} as it comes`, run: webPushRun },
    ...(accelerated !== undefined && {
      'broadcast accelerated': {
        label: 'Deskbell broadcast, with accelerator',
        run: best,
        shorter: { ...best, workload: workloads.nearShort },
      },
      'broadcast openssl': {
        label: 'Deskbell broadcast, without IFMA',
        run: { ...best, encryption: 'openssl' },
      },
    }),
    'broadcast by two': { label: 'Deskbell broadcast, two threads', run: { ...best, threads: 2 } },
    'broadcast relayed': {
      label: 'Deskbell broadcast, the same way without its length',
      run: { ...best, origin: relayed, workload: workloads.relayed },
    },
    'broadcast far': {
      label: `Deskbell broadcast, ${roundTripMs} ms away`,
      run: { ...best, origin: far, workload: workloads.far },
    },
    'broadcast builtin': {
      label: 'Deskbell broadcast, without accelerator',
      run: { ...broadcast, workload: workloads.nearSlower },
    },
    'web-push again': { label: 'the same again (A/A)', run: webPushRun },
    ...(accelerated !== undefined && {
      'single accelerated': {
        label: 'Deskbell send(), with accelerator',
        run: { ...singles, packageFolder: accelerated },
        shorter: { ...singles, packageFolder: accelerated, workload: first(short) },
      },
    }),
    'single builtin': { label: 'Deskbell send(), without accelerator', run: singles },
    ...(accelerated !== undefined && {
      'stand-in accelerated': {
        label: 'deskbell/web-push sendNotification(), with accelerator',
        run: { ...standIn, packageFolder: accelerated },
      },
    }),
    'stand-in builtin': { label: 'deskbell/web-push sendNotification(), without accelerator', run: standIn },
    'web-push tuned': {
      label: `${webPushName}, token kept, undici`,
      run: { ...webPushRun, sender: 'web-push, tuned' },
    },
    'web-push far': {
      label: `${webPushName}, ${roundTripMs} ms away`,
      run: { ...webPushRun, origin: far, workload: firstOf(workloads.far, webPushFar) },
    },
    'web-push-neo': await other('web-push-neo'),
    block65: await other('@block65/webcrypto-web-push'),
    pushforge: await other('@pushforge/builder'),
  };
}
