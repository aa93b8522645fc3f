// A worker with its real store, transport and pace against push services that are simulated, and so is time: a second of theirs
// takes as long as the work in it. Encryption is left out.
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RateLimits } from '../../src/delivery/limits/rate-limits.ts';
import { openMessagePath } from '../../src/delivery/message-path/message-path.ts';
import { PayloadSource } from '../../src/delivery/worker/row-payloads.ts';
import { defaultRetryPolicy } from '../../src/delivery/settings/retry-policy.ts';
import { defaultWorkerSettings } from '../../src/delivery/settings/settings.ts';
import { Worker } from '../../src/delivery/worker/worker.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { createBroadcast } from '../../src/delivery/broadcast/create-broadcast.ts';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import type { Clock } from '../../src/transport/clock.ts';
import type { Exchange, Session, SessionEvents } from '../../src/transport/exchange.ts';
import type { OpenSession } from '../../src/transport/open-session.ts';
import { defaultTimeouts, timeoutError } from '../../src/transport/check-options.ts';
import type { Store } from '../../src/store/store.ts';
import { openTestStore } from '../store/test-database.ts';

/** Time goes on to the next timer, at least by so many milliseconds; all that can be done at a time is done. */
const leastStepMs = 5;
/** Turns of the event loop without a call of the store and without a new timer, after which nothing more is done. */
const idleTurns = 12;
const streamsPerConnection = 100;
const { connectTimeoutMs, responseTimeoutMs } = defaultTimeouts;
export const simulationStartMs = 1_000_000;

/** What becomes of one request. */
export interface Answer {
  readonly afterMs: number;
  /** Absent: it is never answered, unless its stream is refused. */
  readonly status?: number;
  readonly isStreamRefused?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How a push service behaves. Times are in milliseconds since the start. */
export interface Behaviour {
  readonly roundTripMs: number;
  /** @param row of the audience @param attempt from 1 */
  answer(row: number, attempt: number, nowMs: number): Answer;
  /** After how many requests a connection ends, by its number; `undefined`: it does not. */
  ends?(connection: number): { readonly after: number; readonly by: 'goaway' | 'reset' } | undefined;
  /** Whether connections are taken: refused at once, or nothing said until they have taken too long. By default they are. */
  connects?(nowMs: number): 'refused' | 'silent' | undefined;
}

export type SimulatedRun = Awaited<ReturnType<typeof simulateBroadcast>>;

export interface SimulationOptions {
  readonly rows: number;
  readonly workers?: number;
  /** Gives up then. */
  readonly limitMs?: number;
  /** Stops before the end of the broadcast. */
  readonly isOver?: (broadcast: Broadcast) => boolean;
  /** Stops then. */
  readonly untilMs?: number;
}

/** What is being done at a time. */
class Work {
  #calls = 0;
  #idleTurns = 0;

  note(): void {
    this.#idleTurns = 0;
  }

  /** @returns the role, each call of which is noted */
  watch<Role extends object>(role: Role): Role {
    const call = (work: (...given: unknown[]) => unknown, given: unknown[]): unknown => {
      this.#calls += 1;
      const result = work(...given);
      if (result instanceof Promise) return result.finally(() => this.#end());
      this.#end();
      return result;
    };
    const watched = Object.entries(role).map(([name, work]) => [
      name,
      typeof work === 'function' ? (...given: unknown[]) => call(work as never, given) : work,
    ]);
    return Object.fromEntries(watched) as Role;
  }

  #end(): void {
    this.#calls -= 1;
    this.#idleTurns = 0;
  }

  /** Resolves when nothing more is done. */
  async end(): Promise<void> {
    for (this.#idleTurns = 0; this.#idleTurns < idleTurns || this.#calls > 0; this.#idleTurns += 1)
      await nextTurn();
  }
}

class SimulatedClock implements Clock {
  readonly #work: Work;
  #nowMs = simulationStartMs;
  #timers: { readonly dueMs: number; readonly done: () => void }[] = [];
  readonly monotonicNow = (): number => this.#nowMs;
  readonly now = (): number => 1_700_000_000_000 + Math.floor(this.#nowMs);

  constructor(work: Work) {
    this.#work = work;
  }

  readonly startTimer: Clock['startTimer'] = (done, ms) => {
    this.#work.note();
    const timer = { dueMs: this.#nowMs + ms, done };
    const after = this.#timers.findIndex(({ dueMs }) => dueMs > timer.dueMs);
    this.#timers.splice(after === -1 ? this.#timers.length : after, 0, timer);
    return { cancel: () => void (this.#timers = this.#timers.filter((other) => other !== timer)) };
  };

  /** To the next timer; where there is none, nothing would happen any more. */
  advance(): void {
    const endMs = Math.max(this.#nowMs + leastStepMs, this.#timers[0]?.dueMs ?? 0);
    while (this.#timers[0] !== undefined && this.#timers[0].dueMs <= endMs) {
      const timer = this.#timers.shift()!;
      this.#nowMs = Math.max(this.#nowMs, timer.dueMs);
      timer.done();
    }
    this.#nowMs = endMs;
  }
}

const createLog = () => ({
  firstWrittenAtMs: new Map<number, number>(),
  lastWriteMs: 0,
  lastAnswerMs: 0,
  requests: 0,
  attempts: new Map<number, number>(),
  order: [] as number[],
  dueAtMs: new Map<number, number>(),
  latenessMs: [] as number[],
});

type Log = ReturnType<typeof createLog>;

class SimulatedSession implements Session {
  readonly protocol = 'h2';
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
    const byTime = Map.groupBy(this.#added.splice(0), ({ answer }) =>
      answer.status === undefined && !answer.isStreamRefused ? responseTimeoutMs : answer.afterMs,
    );
    for (const [afterMs, all] of byTime)
      this.#clock.startTimer(() => this.#answer(all), Math.max(afterMs, 1), true);
    if (this.#ending !== undefined && this.#taken >= this.#ending.after && !this.#isEnding) {
      this.#isEnding = true;
      this.#clock.startTimer(() => this.#end(), this.#behaviour.roundTripMs / 2, true);
    }
  }

  #answer(all: readonly { readonly exchange: Exchange; readonly answer: Answer }[]): void {
    for (const { exchange, answer } of all) {
      if (!this.#inFlight.delete(exchange)) continue;
      const { status, headers = {}, isStreamRefused } = answer;
      const latencyMs = this.#clock.monotonicNow() - exchange.writtenAtMs;
      this.#log.lastAnswerMs = this.#clock.monotonicNow();
      if (status !== undefined) this.#events.answered(exchange, { status, headers, body: '' }, latencyMs);
      else if (isStreamRefused) this.#handBack(exchange, 'REFUSED_STREAM');
      else this.#events.failed(exchange, timeoutError('push.example.org', 'answer', latencyMs), true);
    }
    this.#closeWhenDone();
  }

  /** GOAWAY hands back the second half of what is in flight; a reset leaves all of it in doubt. */
  #end(): void {
    const inFlight = [...this.#inFlight.keys()];
    if (this.#ending?.by === 'goaway') {
      for (const exchange of inFlight.slice(Math.ceil(inFlight.length / 2))) {
        this.#inFlight.delete(exchange);
        this.#handBack(exchange, undefined);
      }
      this.#closeWhenDone();
    } else this.destroy(new DeskbellError('ERR_CONNECTION', 'It ended the connection.'));
    this.#events.changed(this);
  }

  #handBack(exchange: Exchange, refusal: string | undefined): void {
    const row = Number(exchange.request.path.slice(1));
    this.#log.attempts.set(row, (this.#log.attempts.get(row) ?? 1) - 1);
    this.#events.handedBack(exchange, refusal);
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
  {
    rows,
    workers = 1,
    untilMs = Number.POSITIVE_INFINITY,
    limitMs = 300_000,
    isOver: isEnough,
  }: SimulationOptions,
) {
  const work = new Work();
  const clock = new SimulatedClock(work);
  const { monotonicNow, startTimer } = clock;
  const { store: opened, remove } = await openTestStore(clock.now);
  const { leases, rates, broadcasts, vapidKeys } = opened;
  const store: Store = {
    ...opened,
    leases: work.watch(leases),
    ledger: work.watch(opened.ledger),
    rates: work.watch(rates),
    broadcasts: work.watch(broadcasts),
    vapidKeys: work.watch(vapidKeys),
  };
  const vapid = { ...generateVapidKeys(), subject: 'mailto:push@example.org' };
  const origins = behaviours.map((_, index) => `https://push${index}.example.org`);
  const policy = createEndpointPolicy(origins);
  const keys = { p256dh: generateVapidKeys().publicKey, auth: 'AAAAAAAAAAAAAAAAAAAAAA' };
  const one = parseSubscription({ endpoint: `${origins[0]}/0`, keys }, policy);
  await store.subscriptions.putAll(
    Array.from({ length: rows }, (_, row) => ({
      subscription: { ...one, endpoint: `${origins[row % origins.length]}/${row}` },
      vapidPublicKey: vapid.publicKey,
    })),
  );
  const logs = behaviours.map(createLog);
  let connections = 0;
  const open: OpenSession = async (url, _settings, events) => {
    const index = origins.indexOf(url.origin);
    const behaviour = behaviours[index]!;
    const pass = (ms: number): Promise<void> => new Promise((done) => void clock.startTimer(done, ms, true));
    const fault = behaviour.connects?.(clock.monotonicNow());
    if (fault === 'silent') {
      await pass(connectTimeoutMs);
      throw timeoutError(url.host, 'connect', connectTimeoutMs);
    }
    // TCP and TLS
    await pass(fault === 'refused' ? behaviour.roundTripMs : 2 * behaviour.roundTripMs);
    if (fault === 'refused') throw new DeskbellError('ERR_CONNECTION', 'It refuses connections.');
    connections += 1;
    return new SimulatedSession(behaviour, clock, events, logs[index]!, connections);
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
    return new Worker({
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
    })
      .run(stop.signal)
      .finally(() => path.transport.close(0));
  });
  const run = { isOver: false };
  const ended = Promise.all(running).finally(() => (run.isOver = true));
  ended.catch(() => {});
  const startMs = clock.monotonicNow();
  while (!run.isOver && clock.monotonicNow() - startMs < Math.min(limitMs, untilMs)) {
    await work.end();
    if (isEnough?.(await store.broadcasts.get(broadcast.id)) === true) break;
    clock.advance();
  }
  const isLate = clock.monotonicNow() - startMs >= limitMs;
  stop.abort();
  while (!run.isOver) {
    await nextTurn();
    clock.advance();
  }
  await ended;
  const result = await store.broadcasts.get(broadcast.id);
  await remove();
  if (isLate) assert.fail(`It has not ended after ${limitMs / 1000} s: ${JSON.stringify(result.counts)}`);
  const firstWriteMs = Math.min(...logs.flatMap(({ firstWrittenAtMs }) => [...firstWrittenAtMs.values()]));
  return {
    broadcast: result,
    /** When the last of its rows was first written, by push service; from the first write of all. */
    firstAttemptsMs: logs.map((log) => Math.max(...log.firstWrittenAtMs.values()) - firstWriteMs),
    /** Of rows that were refused, how long after they were due they were written. */
    latenessMs: logs.flatMap(({ latenessMs }) => latenessMs),
    lastWriteMs: Math.max(...logs.map(({ lastWriteMs }) => lastWriteMs)) - firstWriteMs,
    /** When the last answer came, by push service. */
    lastAnswerMs: logs.map(({ lastAnswerMs }) => lastAnswerMs - firstWriteMs),
    endMs: clock.monotonicNow() - firstWriteMs,
    requests: logs.reduce((sum, { requests }) => sum + requests, 0),
    /** Rows in the order of their first writes, by push service. */
    order: logs.map(({ order }) => order),
    /** Of all rows. */
    deferrals,
  };
}
