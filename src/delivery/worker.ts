// One worker: takes slices and due retries from the work source, sends their rows, and commits what came of them. Any
// number of workers in any number of threads and processes may work on the same broadcasts.
//
//   WORKING  takes work, sends in batches, commits. Nothing to do → sleeps until something is due
//   STOPPING takes no more rows, waits a while for answers; what has none by then is given back, and may be repeated
//   STOPPED  everything is committed or given back
//
// At most `pageRows` rows are sent and not yet committed: what a crash repeats.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Ledger } from '../store/ledger.ts';
import type { WorkSource } from '../store/work-source.ts';
import type { Transport, TransportResult } from '../transport/transport.ts';
import type { Outcome } from '../protocol/outcome.ts';
import { HeldWork, type HeldRow, type Portion } from './held-work.ts';
import { OriginGate } from './origin-gate.ts';
import { readResult } from './read-result.ts';
import type { RequestFactory } from './request-factory.ts';
import { defaultRetryPolicy, type RetryPolicy } from './retry-policy.ts';
import { expire, putOff, refuse, toRowResult, ttlSecondsFor } from './row-result.ts';

/** Rows that a worker has sent and not committed, at most: what a crash repeats. */
export const pageRows = 4096;
/** Some stand in pages, in order; the others are parked or claimed. All of a page can be parked, and more. */
const maxPageRows = 1536;
const maxParkedRows = pageRows - maxPageRows;
const maxClaimedRows = 512;
const claimRows = 256;
const readRows = 256;
/** Encrypted together and handed over together: crypto and sockets taking turns row by row cost nearly twice. */
const batchRows = 32;
/** So many settled rows are committed at once, or as many as there are after a while. */
const commitRows = 256;
const commitEveryMs = 200;
/** So long may a row keep those behind it from being committed, and from being seen in the progress. */
const holdUpMs = 1000;
/** While slices are being read, due retries get a turn this often. */
const claimEveryMs = 100;
const lookForWorkEveryMs = 250;
const defaultLeaseMs = 10_000;
const stopGraceMs = 5000;
/** A broadcast here and there at one push service each; more gates are not remembered. */
const maxGates = 1024;

export interface WorkerOptions {
  readonly work: WorkSource;
  readonly ledger: Ledger;
  readonly transport: Transport;
  readonly requests: RequestFactory;
  /** Works on this broadcast only, and ends with it. Without it the worker goes on until it is stopped. */
  readonly broadcastId?: number;
  readonly retryPolicy?: RetryPolicy;
  /** How long work is held without a word from this worker. */
  readonly leaseMs?: number;
}

/**
 * Works until the broadcast is over, paused or cancelled, or until `signal` is aborted.
 *
 * @throws what the store throws; rows that were not committed then are repeated by whoever goes on
 */
export function runWorker(options: WorkerOptions, signal: AbortSignal): Promise<void> {
  return new Worker(options).run(signal);
}

class Worker {
  readonly #source: WorkSource;
  readonly #ledger: Ledger;
  readonly #transport: Transport;
  readonly #requests: RequestFactory;
  readonly #only: { readonly broadcastId?: number };
  readonly #retryPolicy: RetryPolicy;
  readonly #leaseMs: number;
  readonly #works = new Set<HeldWork>();
  readonly #gates = new Map<string, OriginGate>();
  /** Handed to the transport and not answered. */
  #inFlight = 0;
  #settledSinceCommit = 0;
  #claimNotBeforeMs = 0;
  #leaseNotBeforeMs = 0;
  #fault: { readonly cause: unknown } | undefined;
  #wake: () => void = () => {};

  constructor({ work, ledger, transport, requests, broadcastId, retryPolicy, leaseMs }: WorkerOptions) {
    this.#source = work;
    this.#ledger = ledger;
    this.#transport = transport;
    this.#requests = requests;
    this.#only = broadcastId === undefined ? {} : { broadcastId };
    this.#retryPolicy = retryPolicy ?? defaultRetryPolicy;
    this.#leaseMs = leaseMs ?? defaultLeaseMs;
  }

  async run(signal: AbortSignal): Promise<void> {
    const wake = () => this.#wake();
    const committing = setInterval(() => this.#commitAll(), commitEveryMs);
    const renewing = setInterval(() => this.#renewAll(), this.#leaseMs / 3);
    signal.addEventListener('abort', wake);
    try {
      while (!signal.aborted && (await this.#turn(signal)));
      await this.#stop();
    } finally {
      signal.removeEventListener('abort', wake);
      clearInterval(committing);
      clearInterval(renewing);
    }
  }

  /** @returns false when there is nothing left to work for */
  async #turn(signal: AbortSignal): Promise<boolean> {
    this.#throwFault();
    await this.#takeWork();
    if (this.#sendBatch()) {
      await nextTurn();
      return true;
    }
    if (this.#works.size > 0) {
      this.#commitAll();
      await this.#sleep(commitEveryMs);
      return true;
    }
    const state = await this.#source.waitForWork({ ...this.#only, signal });
    if (state === 'ready') {
      this.#claimNotBeforeMs = 0;
      this.#leaseNotBeforeMs = 0;
    }
    return state !== 'over';
  }

  /** Sees to it that there are rows to send: due retries now and then, otherwise the rest of a slice or a new one. */
  async #takeWork(): Promise<void> {
    const nowMs = Date.now();
    const isSliceInHand = [...this.#works].some(({ lease, waiting }) => lease !== undefined && waiting > 0);
    if (nowMs >= this.#claimNotBeforeMs && this.#hasRoomForClaim) {
      const isFull = await this.#claim();
      this.#claimNotBeforeMs = isFull && !isSliceInHand ? nowMs : nowMs + claimEveryMs;
    }
    if (this.#pageRows >= maxPageRows || isSliceInHand) return;

    const unread = [...this.#works].find(({ needsReading }) => needsReading) ?? (await this.#lease(nowMs));
    if (unread !== undefined) await this.#read(unread);
  }

  async #lease(nowMs: number): Promise<HeldWork | undefined> {
    if (nowMs < this.#leaseNotBeforeMs) return undefined;
    const lease = await this.#source.leaseSlice({ leaseMs: this.#leaseMs, ...this.#only });
    if (lease === undefined) {
      this.#leaseNotBeforeMs = nowMs + lookForWorkEveryMs;
      return undefined;
    }
    const work = new HeldWork(lease);
    this.#works.add(work);
    return work;
  }

  /** @returns true where there may be more retries that are due */
  async #claim(): Promise<boolean> {
    const claim = await this.#source.leaseRetries({
      leaseMs: this.#leaseMs,
      limit: claimRows,
      ...this.#only,
    });
    if (claim === undefined) return false;
    this.#works.add(new HeldWork(claim));
    return claim.rows.length === claimRows;
  }

  async #read(work: HeldWork): Promise<void> {
    if (work.lease === undefined) return;
    const rows = await this.#ledger.readRows(work.lease, work.readPosition, readRows);
    work.read(rows, rows.length < readRows);
  }

  /** @returns false where no row is waiting or there is no room for one */
  #sendBatch(): boolean {
    const nowMs = Date.now();
    let room = batchRows;
    for (const work of this.#works) {
      // claimed rows have their room already
      const most = work.lease === undefined ? room : Math.min(room, maxPageRows - this.#pageRows);
      room -= this.#sendSome(work, most, nowMs);
    }
    return room < batchRows;
  }

  #sendSome(work: HeldWork, most: number, nowMs: number): number {
    let sent = 0;
    for (; sent < most; sent += 1) {
      const row = work.next();
      if (row === undefined) break;
      this.#send(row, nowMs);
    }
    return sent;
  }

  #send(row: HeldRow, nowMs: number): void {
    const { broadcast, recipient } = row;
    const location = this.#requests.locate(recipient);
    row.origin = location.origin;
    if (nowMs >= row.tries.expiresAtMs) return this.#settle(row, expire(row));
    if (location.refusal !== undefined) return this.#settle(row, refuse(row, location.refusal));

    const gate = this.#gate(row);
    const verdict = gate.verdict(nowMs);
    if (verdict.kind === 'stopped') return this.#settle(row, refuse(row, verdict.refusal));
    if (verdict.kind === 'putOff') {
      return this.#settle(row, putOff(row, verdict.afterMs, nowMs, this.#retryPolicy));
    }
    const request = this.#requests.make(recipient, location, broadcast, ttlSecondsFor(row, nowMs));
    if ('reason' in request) return this.#settle(row, refuse(row, request));

    row.sentAtMs = nowMs;
    if (row.isParked) gate.park(row, nowMs);
    this.#inFlight += 1;
    this.#transport.send(request, (result) => this.#answered(row, result));
  }

  #answered(row: HeldRow, result: TransportResult): void {
    const nowMs = Date.now();
    this.#inFlight -= 1;
    const outcome = readResult(row.origin, result, nowMs);
    const status = result.kind === 'response' ? result.response.status : undefined;
    this.#learn(row, outcome, status !== undefined, nowMs);
    this.#settle(row, toRowResult(row, outcome, status, row.sentAtMs, this.#retryPolicy));
    if (this.#inFlight === 0) this.#commitAll();
  }

  #learn(row: HeldRow, outcome: Outcome, wasAnswered: boolean, nowMs: number): void {
    const gate = this.#gate(row);
    gate.unpark(row);
    if (wasAnswered) gate.answered(nowMs);
    if (outcome.kind === 'accepted') gate.accepted();
    else if (outcome.kind === 'rejected' && outcome.scope === 'origin') {
      gate.refused({ reason: outcome.reason, detail: outcome.detail ?? '' });
    } else if (outcome.kind === 'retry' && outcome.reason === 'deferred') {
      gate.wait(nowMs + (outcome.afterMs ?? 0));
    }
  }

  #settle(row: HeldRow, result: ReturnType<typeof toRowResult>): void {
    row.work.settle(row, result);
    this.#settledSinceCommit += 1;
    if (this.#settledSinceCommit >= commitRows) this.#commitAll();
  }

  #gate(row: HeldRow): OriginGate {
    row.gate ??= this.#findGate(`${row.broadcast.id} ${row.origin}`);
    return row.gate;
  }

  #findGate(key: string): OriginGate {
    let gate = this.#gates.get(key);
    if (gate === undefined) {
      if (this.#gates.size >= maxGates) this.#gates.clear();
      gate = new OriginGate();
      this.#gates.set(key, gate);
    }
    return gate;
  }

  get #pageRows(): number {
    let rows = 0;
    for (const work of this.#works) rows += work.pageRows;
    return rows;
  }

  get #hasRoomForClaim(): boolean {
    let claimed = 0;
    for (const work of this.#works) if (work.lease === undefined) claimed += work.parkedRows;
    return claimed <= maxClaimedRows - claimRows && this.#parkedRows <= maxParkedRows - claimRows;
  }

  get #parkedRows(): number {
    let rows = 0;
    for (const work of this.#works) rows += work.parkedRows;
    return rows;
  }

  /** Rows without an answer may hold up a page for a moment, as long as there is room in it; then they are parked. */
  #parkForRoom = (row: HeldRow): boolean => {
    const nowMs = Date.now();
    const mayStay = this.#pageRows <= maxPageRows / 2 && nowMs - row.sentAtMs < holdUpMs;
    if (mayStay || this.#parkedRows >= maxParkedRows) return false;
    const gate = this.#gate(row);
    // the last of the room takes a whole page, so that push services which all hang at once cannot fill everything
    const hasRoom = this.#parkedRows < maxParkedRows - maxPageRows;
    if (!gate.mayPark(nowMs, hasRoom)) return false;
    gate.park(row, row.sentAtMs);
    return true;
  };

  #commitAll(): void {
    this.#settledSinceCommit = 0;
    for (const work of this.#works) {
      if (!work.isCommitting) void this.#commit(work, this.#parkForRoom);
    }
  }

  /** Stores what is ready of the work, if anything is. */
  async #commit(work: HeldWork, park: (row: HeldRow) => boolean): Promise<void> {
    const page = work.takePage(park, this.#leaseMs);
    const parked = work.takeParked();
    if (page === undefined && parked === undefined && !work.isDone) return;
    work.isCommitting = true;
    try {
      // one transaction, where the store gathers what it is asked for at once
      await Promise.all([page && this.#store(work, page), parked && this.#store(work, parked)]);
      if (work.isDone) await this.#letGo(work);
    } catch (cause) {
      this.#fault ??= { cause };
    } finally {
      work.isCommitting = false;
      this.#wake();
    }
  }

  async #store(work: HeldWork, { rows, cursor }: Portion): Promise<void> {
    const answer = await this.#ledger.commit({
      ...work.held,
      ...(work.lease && cursor !== undefined && { slice: { number: work.lease.slice, cursor } }),
      rows,
      leaseMs: this.#leaseMs,
    });
    if (answer.isLeaseLost) this.#works.delete(work);
    else if (answer.state !== 'running') work.stop();
  }

  async #letGo(work: HeldWork): Promise<void> {
    this.#works.delete(work);
    if (work.isUnfinished) await this.#source.release(work.held);
  }

  #renewAll(): void {
    for (const { held } of this.#works) {
      this.#source.renew(held, this.#leaseMs).catch((cause: unknown) => {
        this.#fault ??= { cause };
        this.#wake();
      });
    }
  }

  async #stop(): Promise<void> {
    for (const work of this.#works) work.stop();
    const endMs = Date.now() + stopGraceMs;
    while (this.#inFlight > 0 && this.#works.size > 0 && this.#fault === undefined && Date.now() < endMs) {
      this.#commitAll();
      await this.#sleep(Math.min(commitEveryMs, endMs - Date.now()));
    }
    for (const work of this.#works) {
      while (work.isCommitting) await nextTurn();
      await this.#commit(work, () => true);
      await this.#source.release(work.held);
    }
    this.#throwFault();
  }

  #throwFault(): void {
    if (this.#fault !== undefined) throw this.#fault.cause;
  }

  /** Until something is settled, at most `ms`. */
  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
