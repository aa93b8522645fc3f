// Who takes part, in the order of a round. Those whose ratios count stand next to each other.
import type { Run } from './measure.ts';
import { versionOf, type Packages } from './packages.ts';
import { roundTripMs, type PushServices } from './push-services.ts';
import { firstOf, type Workload } from './workload.ts';

/** How many messages in a run, how many rounds. */
export interface Size {
  readonly rounds: number;
  readonly webPush: number;
  readonly otherSenders: number;
  readonly broadcast: number;
  readonly single: number;
  readonly restless: number;
}

export const sizes = {
  full: {
    rounds: 5,
    webPush: 20_000,
    otherSenders: 4000,
    broadcast: 100_000,
    single: 60_000,
    restless: 20_000,
  },
  quick: {
    rounds: 2,
    webPush: 4000,
    otherSenders: 1000,
    broadcast: 30_000,
    single: 20_000,
    restless: 10_000,
  },
} as const satisfies Record<string, Size>;

export interface Entrant {
  readonly label: string;
  readonly run: Run;
}

/** `single` ones are handed one subscription after the other, 64 in flight; `broadcast` ones read the store. */
export type EntrantId =
  | 'web-push'
  | 'web-push again'
  | 'web-push far'
  | 'web-push tuned'
  | 'web-push-neo'
  | 'block65'
  | 'pushforge'
  | 'broadcast'
  | 'broadcast builtin'
  | 'broadcast by two'
  | 'broadcast far'
  | 'single'
  | 'single builtin';

const inFlight = 64;

export async function listEntrants(
  { webPush, otherSenders, single }: Size,
  { builtin, accelerated }: Packages,
  { near, far }: PushServices,
  workloads: { readonly near: Workload; readonly far: Workload },
): Promise<Partial<Record<EntrantId, Entrant>>> {
  const packageFolder = accelerated ?? builtin;
  const base = { packageFolder, origin: near, inFlight, threads: 1, workload: workloads.near };
  const npm = (sender: string, count: number): Run => ({
    ...base,
    sender,
    workload: firstOf(workloads.near, count),
  });
  const broadcast: Run = { ...base, sender: 'deskbell broadcast' };
  const singles: Run = { ...base, sender: 'deskbell send', workload: firstOf(workloads.near, single) };
  const withWhat = accelerated === undefined ? "Node's builtins" : 'accelerator';
  const webPushName = `web-push ${await versionOf('web-push')}`;
  const other = async (name: string): Promise<Entrant> => ({
    label: `${name} ${await versionOf(name)}`,
    run: npm(name, otherSenders),
  });

  return {
    'web-push': { label: `${webPushName} as it comes`, run: npm('web-push', webPush) },
    broadcast: { label: `Deskbell broadcast, ${withWhat}`, run: broadcast },
    'broadcast by two': { label: 'Deskbell broadcast, two threads', run: { ...broadcast, threads: 2 } },
    'broadcast far': {
      label: `Deskbell broadcast, ${roundTripMs} ms away`,
      run: { ...broadcast, origin: far, workload: workloads.far },
    },
    ...(accelerated !== undefined && {
      'broadcast builtin': {
        label: "Deskbell broadcast, Node's builtins",
        run: { ...broadcast, packageFolder: builtin },
      },
    }),
    'web-push again': { label: 'the same again (A/A)', run: npm('web-push', webPush) },
    single: { label: `Deskbell send(), ${withWhat}`, run: singles },
    ...(accelerated !== undefined && {
      'single builtin': {
        label: "Deskbell send(), Node's builtins",
        run: { ...singles, packageFolder: builtin },
      },
    }),
    'web-push tuned': {
      label: `${webPushName}, token kept, undici`,
      run: npm('web-push, tuned', webPush),
    },
    'web-push far': {
      label: `${webPushName}, ${roundTripMs} ms away`,
      run: { ...npm('web-push', webPush), origin: far, workload: firstOf(workloads.far, webPush) },
    },
    'web-push-neo': await other('web-push-neo'),
    block65: await other('@block65/webcrypto-web-push'),
    pushforge: await other('@pushforge/builder'),
  };
}
