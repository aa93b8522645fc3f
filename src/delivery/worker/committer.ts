// Commits the results of a worker's rows to the ledger, and renews and releases the worker's leases. Commits of one
// assignment wait for each other, so that its cursor only moves forward.
import type { RowResult } from '../../store/ledger.ts';
import type { HeldLease } from '../../store/leases.ts';
import type { Assignment, AssignedRow, CommitPart } from './assignment.ts';
import { logRows } from '../reports/message-log.ts';
import type { Workload, WorkerParts } from './workload.ts';

export class Committer {
  readonly #parts: WorkerParts;
  readonly #workload: Workload;
  readonly #onCommit: () => void;
  readonly #renewing = new Set<HeldLease>();
  #fault: { readonly cause: unknown } | undefined;
  #uncommittedResults = 0;
  #uncommittedOthers = 0;

  /** @param onCommit called after each commit, even after a failed one */
  constructor(parts: WorkerParts, workload: Workload, onCommit: () => void) {
    this.#parts = parts;
    this.#workload = workload;
    this.#onCommit = onCommit;
  }

  get hasFailed(): boolean {
    return this.#fault !== undefined;
  }

  /** True if there are enough results to commit. */
  get isDue(): boolean {
    const { commitRows, commitOtherRows } = this.#parts.settings;
    return this.#uncommittedResults >= commitRows || this.#uncommittedOthers >= commitOtherRows;
  }

  countResult({ result }: RowResult): void {
    this.#uncommittedResults += 1;
    if (result !== 'accepted') this.#uncommittedOthers += 1;
  }

  /** @throws the store's error, if there was one */
  throwFault(): void {
    if (this.#fault !== undefined) throw this.#fault.cause;
  }

  commitAll(): void {
    this.#uncommittedResults = 0;
    this.#uncommittedOthers = 0;
    for (const assignment of this.#workload.assignments) {
      if (assignment.committed === undefined) void this.#commit(assignment, this.#mayDetach);
    }
  }

  renewAll(): void {
    const { leases, settings } = this.#parts;
    for (const { lease } of this.#workload.assignments) {
      // the last renewal may still be waiting for disk space or for the database
      if (this.#renewing.has(lease)) continue;
      this.#renewing.add(lease);
      leases
        .renew(lease, settings.leaseMs)
        .catch((cause: unknown) => this.#fail(cause))
        .finally(() => this.#renewing.delete(lease));
    }
  }

  /**
   * Commits all results and gives every lease back. Rows without a response are stored individually. The leases are
   * released in parallel, because each call is retried for a while if the database cannot be reached.
   */
  async releaseAll(): Promise<void> {
    await Promise.all(Array.from(this.#workload.assignments, (assignment) => this.#release(assignment)));
  }

  async #release(assignment: Assignment): Promise<void> {
    await assignment.committed;
    if (!this.#workload.assignments.has(assignment)) return;
    await this.#commit(assignment, () => true);
    await this.#parts.leases.release(assignment.lease);
  }

  /**
   * Decides whether a row may be detached: stored individually, so that the slice's cursor can pass the row. The row's
   * response must be late. The push service must have fewer detached rows than there are free places, so that other
   * push services get places too. A silent push service needs no free place, because it gets no further rows.
   */
  readonly #mayDetach = (row: AssignedRow): boolean => {
    const { maxCommitDelayMs, crowdedCommitDelayMs } = this.#parts.settings;
    const { load } = row.destination.gate;
    const afterMs = this.#workload.isCrowded ? crowdedCommitDelayMs : maxCommitDelayMs;
    const nowMs = this.#parts.clock.monotonicNow();
    if (!load.isLate(row, nowMs, afterMs)) return false;
    if (load.detached >= this.#workload.freeDetachedRows && !load.isSilent(nowMs)) return false;
    load.addDetached(row);
    return true;
  };

  /** Stores the results of the assignment that are ready, if there are any. */
  async #commit(assignment: Assignment, mayDetach: (row: AssignedRow) => boolean): Promise<void> {
    const page = assignment.takePage(mayDetach, this.#parts.settings.leaseMs);
    const detached = assignment.takeDetached();
    if (page === undefined && detached === undefined && !assignment.isDone) return;
    assignment.committed = this.#storeAll(assignment, [page, detached]);
    await assignment.committed;
  }

  /** Stores results. Never throws: a fault is kept for `throwFault`. */
  async #storeAll(assignment: Assignment, parts: readonly (CommitPart | undefined)[]): Promise<void> {
    try {
      // store both in the same turn, so that a store that batches requests needs only one transaction
      await Promise.all(parts.map((part) => part && this.#store(assignment, part)));
      if (assignment.isDone) await this.#end(assignment);
    } catch (cause) {
      this.#fault ??= { cause };
      // drop the assignment: its next commit would skip these rows. They are repeated when the lease expires
      this.#workload.assignments.delete(assignment);
    } finally {
      assignment.committed = undefined;
      this.#onCommit();
    }
  }

  async #store(assignment: Assignment, { rows, cursors }: CommitPart): Promise<void> {
    const { ledger, path, settings, figures, messageLog, record } = this.#parts;
    const { destinations } = path;
    const { lease, slice } = assignment;
    const startedMs = record.now();
    const answer = await ledger.commit({
      ...lease,
      slice: slice && cursors && { number: slice.slice, ...cursors },
      rows,
      answers: destinations.takeAnswers(),
      leaseMs: settings.leaseMs,
    });
    // the rows are durable: record all of them at once, before anything else can fail
    assignment.recordCommitted(rows);
    if (messageLog !== undefined && !answer.isLeaseLost) logRows(messageLog, lease.broadcastId, rows);
    // the page and the detached rows are two commits: if both find the lease lost, count the loss only once
    const isLeaseLost = answer.isLeaseLost && this.#workload.assignments.delete(assignment);
    figures?.recordCommit(record.now() - startedMs, isLeaseLost);
    destinations.setStates(answer.pushServices);
    if (answer.state !== 'running') assignment.stop();
    await destinations.storeDormant();
  }

  async #end(assignment: Assignment): Promise<void> {
    this.#workload.assignments.delete(assignment);
    if (assignment.isUnfinished) await this.#parts.leases.release(assignment.lease);
  }

  #fail(cause: unknown): void {
    this.#fault ??= { cause };
    this.#onCommit();
  }
}
