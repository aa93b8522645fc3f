// A worker with its real store, transport and pace against push services that are simulated, and so is time: a second of theirs
// takes as long as the work in it. Encryption is left out.
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RateLimits } from '../../src/delivery/limits/rate-limits.ts';
import { openMessagePath } from '../../src/delivery/message-path/message-path.ts';
import { PayloadSource } from '../../src/delivery/worker/row-payloads.ts';
import { defaultRetryPolicy } from '../../src/delivery/worker/retry-policy.ts';
import { defaultWorkerSettings } from '../../src/delivery/worker/worker-settings.ts';
import { runWorker } from '../../src/delivery/worker/worker.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import { generateVapidKeys } from '../../src/protocol/vapid-token.ts';
import { createBroadcast } from '../../src/delivery/broadcast/create-broadcast.ts';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import type { Clock } from '../../src/transport/clock.ts';
import type { Exchange, Session, SessionEvents } from '../../src/transport/exchange.ts';
import type { OpenSession } from '../../src/transport/open-session.ts';
import { openTestStore } from '../store/test-database.ts';

/** Time passes in steps of so many milliseconds; all that can be done in one is done. */
const stepMs = 5;
/** Turns of the event loop after which nothing more is done. */
const turnsPerStep = 8;
const streamsPerConnection = 100;

/** What becomes of one request. */
export interface Answer {
  readonly afterMs: number;
  /** Absent: it is never answered. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How a push service behaves. Times are in milliseconds since the start. */
export interface Behaviour {
  readonly roundTripMs: number;
  /** @param row of the audience @param attempt from 1 */
  answer(row: number, attempt: number, nowMs: number): Answer;
  /** After how many requests a connection ends, by its number; `undefined`: it does not. */
  ends?(connection: number): { readonly after: number; readonly by: 'goaway' | 'reset' } | undefined;
}

export interface SimulatedRun {
  readonly broadcast: Broadcast;
  /** When the last of its rows was first written, by push service; from the first write of all. */
  readonly firstAttemptsMs: readonly number[];
  /** Of rows that were refused, how long after they were due they were written. */
  readonly latenessMs: readonly number[];
  readonly lastWriteMs: number;
  readonly endMs: number;
  readonly requests: number;
  /** Rows in the order of their first writes, by push service. */
  readonly order: readonly (readonly number[])[];
  /** Of all rows. */
  readonly deferrals: number;
}

export interface SimulationOptions {
  readonly rows: number;
  readonly workers?: number;
  /** Gives up then. */
  readonly limitMs?: number;
  /** Stops before the end of the broadcast. */
  readonly isOver?: (broadcast: Broadcast) => boolean;
}

class SimulatedClock implements Clock {
  #nowMs = 1_000_000;
  #timers: { readonly dueMs: number; readonly done: () => void }[] = [];
  readonly monotonicNow = (): number => this.#nowMs;
  readonly now = (): number => 1_700_000_000_000 + Math.floor(this.#nowMs);

  readonly startTimer: Clock['startTimer'] = (done, ms) => {
    const timer = { dueMs: this.#nowMs + ms, done };
    const after = this.#timers.findIndex(({ dueMs }) => dueMs > timer.dueMs);
    this.#timers.splice(after === -1 ? this.#timers.length : after, 0, timer);
    return { cancel: () => void (this.#timers = this.#timers.filter((other) => other !== timer)) };
  };

  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    while (this.#timers[0] !== undefined && this.#timers[0].dueMs <= endMs) {
      const timer = this.#timers.shift()!;
      this.#nowMs = Math.max(this.#nowMs, timer.dueMs);
      timer.done();
    }
    this.#nowMs = endMs;
  }
}

interface Log {
  firstWrittenAtMs: Map<number, number>;
  lastWriteMs: number;
  requests: number;
  attempts: Map<number, number>;
  order: number[];
  dueAtMs: Map<number, number>;
  latenessMs: number[];
}

class SimulatedSession implements Session {
  readonly capacity = streamsPerConnection;
  readonly #behaviour: Behaviour;
  readonly #clock: Clock;
  readonly #events: SessionEvents;
  readonly #log: Log;
  readonly #inFlight = new Map<Exchange, number>();
  readonly #ending: ReturnType<NonNullable<Behaviour['ends']>>;
  #taken = 0;
  #isEnding = false;
  #added: { readonly exchange: Exchange; readonly answer: Answer }[] = [];
  isOpen = true;
  #isClosed = false;

  constructor(behaviour: Behaviour, clock: Clock, events: SessionEvents, log: Log, connection: number) {
    this.#behaviour = behaviour;
    this.#clock = clock;
    this.#events = events;
    this.#log = log;
    this.#ending = behaviour.ends?.(connection);
  }

  get freeCapacity(): number {
    return this.isOpen ? streamsPerConnection - this.#inFlight.size : 0;
  }

  get wasUsed(): boolean {
    return this.#taken > 0;
  }

  add(exchange: Exchange): void {
    const nowMs = this.#clock.monotonicNow();
    exchange.writtenAtMs = nowMs;
    this.#taken += 1;
    this.#inFlight.set(exchange, this.#taken);
    const row = Number(exchange.request.path.slice(1));
    const log = this.#log;
    const attempt = (log.attempts.get(row) ?? 0) + 1;
    log.attempts.set(row, attempt);
    log.requests += 1;
    log.lastWriteMs = nowMs;
    if (attempt === 1) {
      log.firstWrittenAtMs.set(row, nowMs);
      log.order.push(row);
    }
    const dueAtMs = log.dueAtMs.get(row);
    if (dueAtMs !== undefined) log.latenessMs.push(nowMs - dueAtMs);
    log.dueAtMs.delete(row);
    this.#added.push({ exchange, answer: this.#behaviour.answer(row, attempt, nowMs) });
    if (this.#taken === this.#ending?.after) this.isOpen = false;
  }

  flush(): void {
    const byTime = Map.groupBy(this.#added.splice(0), ({ answer }) => answer.afterMs);
    for (const [afterMs, all] of byTime)
      this.#clock.startTimer(() => this.#answer(all), Math.max(afterMs, 1), true);
    if (this.#ending !== undefined && this.#taken >= this.#ending.after && !this.#isEnding) {
      this.#isEnding = true;
      this.#clock.startTimer(() => this.#end(), this.#behaviour.roundTripMs / 2, true);
    }
  }

  #answer(all: readonly { readonly exchange: Exchange; readonly answer: Answer }[]): void {
    for (const { exchange, answer } of all) {
      if (answer.status === undefined || !this.#inFlight.delete(exchange)) continue;
      const { status, headers = {} } = answer;
      const latencyMs = this.#clock.monotonicNow() - exchange.writtenAtMs;
      this.#events.answered(exchange, { status, headers, body: '' }, latencyMs);
    }
    this.#closeWhenDone();
  }

  /** GOAWAY hands back the second half of what is in flight; a reset leaves all of it in doubt. */
  #end(): void {
    const inFlight = [...this.#inFlight.keys()];
    if (this.#ending?.by === 'goaway') {
      for (const exchange of inFlight.slice(Math.ceil(inFlight.length / 2))) {
        this.#inFlight.delete(exchange);
        const row = Number(exchange.request.path.slice(1));
        this.#log.attempts.set(row, (this.#log.attempts.get(row) ?? 1) - 1);
        this.#events.handedBack(exchange, undefined);
      }
      this.#closeWhenDone();
    } else this.destroy(new DeskbellError('ERR_CONNECTION', 'It ended the connection.'));
    this.#events.changed(this);
  }

  #closeWhenDone(): void {
    if (!this.isOpen && this.#inFlight.size === 0)
      this.#close(new DeskbellError('ERR_CONNECTION', 'It is closed.'));
  }

  drain(): void {
    this.isOpen = false;
    this.#closeWhenDone();
  }

  destroy(error: DeskbellError): void {
    this.isOpen = false;
    const inFlight = [...this.#inFlight.keys()];
    this.#inFlight.clear();
    for (const exchange of inFlight) this.#events.failed(exchange, error, true);
    this.#close(error);
  }

  #close(error: DeskbellError): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#events.closed(this, error);
  }
}

/** Sends one broadcast to rows that are spread evenly over the push services; row n is at number n modulo their count. */
export async function simulateBroadcast(
  behaviours: readonly Behaviour[],
  { rows, workers = 1, limitMs = 300_000, isOver: isEnough = () => false }: SimulationOptions,
): Promise<SimulatedRun> {
  const clock = new SimulatedClock();
  const { monotonicNow, startTimer } = clock;
  const { store, remove } = await openTestStore(clock.now);
  const vapid = { ...generateVapidKeys(), subject: 'mailto:push@example.org' };
  const origins = behaviours.map((_, index) => `https://push${index}.example.org`);
  const policy = createEndpointPolicy(origins);
  const key = { p256dh: generateVapidKeys().publicKey, auth: 'AAAAAAAAAAAAAAAAAAAAAA' };
  await store.subscriptions.putAll(
    Array.from({ length: rows }, (_, row) => ({
      subscription: parseSubscription(
        { endpoint: `${origins[row % origins.length]}/${row}`, keys: key },
        policy,
      ),
      vapidPublicKey: vapid.publicKey,
    })),
  );
  const logs = behaviours.map((): Log => ({
    firstWrittenAtMs: new Map(),
    lastWriteMs: 0,
    requests: 0,
    attempts: new Map(),
    order: [],
    dueAtMs: new Map(),
    latenessMs: [],
  }));
  let connections = 0;
  const open: OpenSession = async (url, _settings, events) => {
    const index = origins.indexOf(url.origin);
    const behaviour = behaviours[index]!;
    // TCP and TLS
    await new Promise<void>((done) => void clock.startTimer(done, 2 * behaviour.roundTripMs, true));
    connections += 1;
    return {
      session: new SimulatedSession(behaviour, clock, events, logs[index]!, connections),
      protocol: 'h2',
    };
  };
  const { broadcast } = await createBroadcast(
    store,
    policy,
    'all',
    { title: 'Tea', message: 'is ready' },
    {},
  );
  let deferrals = 0;
  const ledger: typeof store.ledger = {
    ...store.ledger,
    commit: async (page) => {
      const answer = await store.ledger.commit(page);
      for (const { recipient, retry, attempts } of page.rows) {
        deferrals = Math.max(deferrals, retry?.deferrals ?? 0);
        if (attempts === 0 || retry === undefined) continue;
        const row = Number(URL.parse(recipient.endpoint)!.pathname.slice(1));
        logs[row % logs.length]!.dueAtMs.set(row, clock.monotonicNow() + retry.delayMs);
      }
      return answer;
    },
  };
  const stop = new AbortController();
  const isRunning = async (): Promise<boolean> =>
    (await store.broadcasts.get(broadcast.id)).state === 'running';
  const running = Array.from({ length: workers }, () => {
    const path = openMessagePath(
      { vapid, transport: { monotonicNow, startTimer, pushServices: origins, random: () => 0.5 } },
      store,
      (messages) => messages.map(() => new Uint8Array(8)),
      assert.fail,
      { open },
    );
    return runWorker(
      {
        leases: {
          ...store.leases,
          // as of a database that is asked each fifty milliseconds
          waitForWork: async () => {
            if (!(await isRunning())) return 'over';
            await new Promise<void>((done) => void clock.startTimer(done, 50, true));
            return 'ready';
          },
        },
        ledger,
        rates: new RateLimits(new Map(), store.rates),
        path,
        record: { retryPolicy: defaultRetryPolicy, now: clock.now, random: () => 0.5 },
        settings: defaultWorkerSettings,
        clock,
        broadcastId: broadcast.id,
        payloads: new PayloadSource(store, undefined),
        onSlice: () => {},
      },
      stop.signal,
    ).finally(() => path.close(0));
  });
  const work = { isOver: false };
  const ended = Promise.all(running).finally(() => (work.isOver = true));
  ended.catch(() => {});
  const startMs = clock.monotonicNow();
  while (!work.isOver && clock.monotonicNow() - startMs < limitMs) {
    for (let turn = 0; turn < turnsPerStep; turn += 1) await nextTurn();
    if (isEnough(await store.broadcasts.get(broadcast.id))) break;
    clock.advance(stepMs);
  }
  const isLate = clock.monotonicNow() - startMs >= limitMs;
  stop.abort();
  while (!work.isOver) {
    await nextTurn();
    clock.advance(stepMs);
  }
  await ended;
  const result = await store.broadcasts.get(broadcast.id);
  await remove();
  if (isLate) assert.fail(`It has not ended after ${limitMs / 1000} s: ${JSON.stringify(result.counts)}`);
  const firstWriteMs = Math.min(...logs.flatMap(({ firstWrittenAtMs }) => [...firstWrittenAtMs.values()]));
  return {
    broadcast: result,
    firstAttemptsMs: logs.map((log) => Math.max(...log.firstWrittenAtMs.values()) - firstWriteMs),
    latenessMs: logs.flatMap(({ latenessMs }) => latenessMs),
    lastWriteMs: Math.max(...logs.map(({ lastWriteMs }) => lastWriteMs)) - firstWriteMs,
    endMs: clock.monotonicNow() - firstWriteMs,
    requests: logs.reduce((sum, { requests }) => sum + requests, 0),
    order: logs.map(({ order }) => order),
    deferrals,
  };
}
