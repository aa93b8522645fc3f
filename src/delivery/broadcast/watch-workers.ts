// Reports which processes start and stop delivering broadcasts, on any machine, from the reports that their workers store.
import type { SenderReports } from '../../store/sending.ts';
import { watchStore } from './watch-store.ts';

/** A process that delivers; all of its threads count as one. */
export interface WorkerProcess {
  readonly machine: string;
  readonly processId: number;
  readonly startedAtMs: number;
}

/** `stopped`: it has withdrawn its reports. `lost`: it no longer gives a sign of life. */
export interface WorkerEvent extends WorkerProcess {
  readonly state: 'started' | 'stopped' | 'lost';
}

interface WorkerLook extends WorkerProcess {
  readonly seenAtMs: number;
  /** For how many looks its report has been the same. */
  readonly silentLooks: number;
}

const workersPollMs = 2000;
/** Reports are repeated every eight seconds, so one that stayed the same for this many looks has run out and was not withdrawn. */
const silentLooksOfLost = 6;

/**
 * Yields events until `signal` is aborted. Processes seen at the first look count as started.
 *
 * @param isLeftOut selects processes to ignore
 * @param onError called once with the reason when the store cannot be read, and again only after it could be
 */
export function watchWorkers(
  senders: Pick<SenderReports, 'list'>,
  signal: AbortSignal,
  onError: (error: unknown) => void,
  {
    everyMs = workersPollMs,
    isLeftOut = () => false,
  }: { readonly everyMs?: number; readonly isLeftOut?: (worker: WorkerProcess) => boolean } = {},
): AsyncGenerator<WorkerEvent> {
  let seen: ReadonlyMap<string, WorkerLook> = new Map();
  const findEvents = async (): Promise<readonly WorkerEvent[]> => {
    const before = seen;
    seen = await lookAtWorkers(senders, before);
    return compareWorkers(before, seen).filter((worker) => !isLeftOut(worker));
  };
  return watchStore(findEvents, { signal, everyMs, onError });
}

async function lookAtWorkers(
  senders: Pick<SenderReports, 'list'>,
  seen: ReadonlyMap<string, WorkerLook>,
): Promise<ReadonlyMap<string, WorkerLook>> {
  const looks = new Map<string, WorkerLook>();
  for (const { kind, machine, processId, startedAtMs, seenAtMs } of await senders.list()) {
    if (kind !== 'worker') continue;
    const key = `${machine} ${processId}`;
    const newestMs = Math.max(seenAtMs, looks.get(key)?.seenAtMs ?? 0);
    const before = seen.get(key);
    const silentLooks = before?.seenAtMs === newestMs ? before.silentLooks + 1 : 0;
    // Reports are ordered by start: the process started with the first of its workers.
    const since = looks.get(key)?.startedAtMs ?? before?.startedAtMs ?? startedAtMs;
    looks.set(key, { machine, processId, startedAtMs: since, seenAtMs: newestMs, silentLooks });
  }
  return looks;
}

function compareWorkers(
  seen: ReadonlyMap<string, WorkerLook>,
  looks: ReadonlyMap<string, WorkerLook>,
): readonly WorkerEvent[] {
  const gone = [...seen].filter(([key]) => !looks.has(key));
  const come = [...looks].filter(([key]) => !seen.has(key));
  return [
    ...gone.map(([, last]) => toEvent(last, last.silentLooks < silentLooksOfLost ? 'stopped' : 'lost')),
    ...come.map(([, first]) => toEvent(first, 'started')),
  ];
}

const toEvent = (
  { machine, processId, startedAtMs }: WorkerProcess,
  state: WorkerEvent['state'],
): WorkerEvent => ({ state, machine, processId, startedAtMs });
