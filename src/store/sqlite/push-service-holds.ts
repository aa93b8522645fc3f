// Holds of push services in SQLite: from the answers that workers report to what is held back, which rows are drawn
// as probes, and what is released. All functions are called inside a transaction.
import {
  holdPolicy,
  type PushServiceAnswers,
  type PushServiceKey,
  type PushServiceState,
} from '../push-services.ts';
import type { SqliteDatabase } from './sqlite-database.ts';

export interface PushServiceHolds {
  record(answers: readonly PushServiceAnswers[]): void;
  /** Those that are not as every push service is at first. */
  states(): readonly PushServiceState[];
  /** @returns the number of a push service that is held now */
  findHeld(key: PushServiceKey): number | undefined;
  /** Whether the push service is known to have accepted a message for this subscription. */
  wasAccepted(id: number, subscriptionId: number | undefined): boolean;
  /** Rows of one running broadcast whose push service is to be probed now. */
  drawProbes(
    broadcastId: number,
  ): { readonly broadcastId: number; readonly positions: readonly number[] } | undefined;
  /** Makes rows due that are held back for push services which are open again, at most `limit`. */
  release(broadcastId: number, limit: number): void;
}

/** Stands for "any broadcast". */
export const anyBroadcast = 0;

interface PushServiceRow {
  readonly id: number;
  readonly refusals_in_row: number;
  readonly refusals_to_hold: number;
  readonly held_since_ms: number | null;
}

export function createPushServiceHolds(database: SqliteDatabase): PushServiceHolds {
  const statements = prepareStatements(database);

  const findOrAdd = ({ origin, vapidPublicKey }: PushServiceKey): PushServiceRow => {
    const found = statements.find.first({ origin, vapidPublicKey });
    if (found !== undefined) return found;
    const { refusalsToHold } = holdPolicy;
    const id = statements.add.first({ origin, vapidPublicKey, refusalsToHold })!.id;
    return { id, refusals_in_row: 0, refusals_to_hold: refusalsToHold, held_since_ms: null };
  };

  const recordOne = (answers: PushServiceAnswers): void => {
    const { accepted, refusalsInRow, acceptedSubscriptionId, waitMs = 0 } = answers;
    if (accepted === 0 && refusalsInRow === 0 && waitMs === 0) return;
    const known = findOrAdd(answers);
    const { id } = known;
    if (waitMs > 0) statements.wait.run({ id, untilMs: database.now() + waitMs });
    if (acceptedSubscriptionId !== undefined) {
      const slot = acceptedSubscriptionId % holdPolicy.rememberedRows;
      statements.remember.run({ id, slot, subscriptionId: acceptedSubscriptionId });
    }
    if (accepted > 0 && known.held_since_ms !== null) {
      const { maxRefusalsToHold } = holdPolicy;
      statements.open.run({ id, refusalsToHold: Math.min(2 * known.refusals_to_hold, maxRefusalsToHold) });
    }
    const inRow = accepted > 0 ? refusalsInRow : known.refusals_in_row + refusalsInRow;
    if (inRow !== known.refusals_in_row) statements.setRefusals.run({ id, inRow });
    if (inRow < known.refusals_to_hold) return;
    statements.hold.run({ id, nowMs: database.now(), pauseMs: holdPolicy.probePauseMs });
  };

  return {
    record: (answers) => answers.forEach(recordOne),

    states: () =>
      statements.states
        .all({ nowMs: database.now(), refusalsToHold: holdPolicy.refusalsToHold })
        .map((row) => ({
          origin: row.origin,
          vapidPublicKey: row.vapid_public_key,
          isHeld: row.held_since_ms !== null,
          refusalsToHold: row.refusals_to_hold,
          waitMs: row.wait_ms,
        })),

    findHeld: ({ origin, vapidPublicKey }) => {
      const found = statements.find.first({ origin, vapidPublicKey });
      return found === undefined || found.held_since_ms === null ? undefined : found.id;
    },

    wasAccepted: (id, subscriptionId) => {
      if (subscriptionId === undefined) return false;
      const slot = subscriptionId % holdPolicy.rememberedRows;
      return statements.remembered.first({ id, slot })?.subscription_id === subscriptionId;
    },

    drawProbes: (only) => {
      const nowMs = database.now();
      const due = statements.findProbes.first({ nowMs, broadcastId: only });
      if (due === undefined) return undefined;
      const { id, draws, broadcast_id: broadcastId } = due;
      const { probeRows, knownProbeRows } = holdPolicy;
      const known = statements.drawKnown.all({ id, broadcastId, limit: knownProbeRows });
      const others = statements.drawOthers.all({ id, broadcastId, limit: probeRows - known.length });
      const positions = [...known, ...others].map(({ position }) => position);
      statements.setNextProbes.run({ id, draws: draws + 1, probeAtMs: nowMs + pauseAfter(draws + 1) });
      return { broadcastId, positions };
    },

    release: (broadcastId, limit) => {
      statements.release.run({ broadcastId, limit, nowMs: database.now() });
    },
  };
}

function pauseAfter(draws: number): number {
  const { probePauseMs, quickDraws, maxProbePauseMs } = holdPolicy;
  return Math.min(maxProbePauseMs, probePauseMs * 2 ** Math.max(0, draws - quickDraws));
}

function prepareStatements(database: SqliteDatabase) {
  const isAsked = `(:broadcastId = ${anyBroadcast} or b.id = :broadcastId)`;
  const draw = (comparison: string) =>
    database.prepare<{ id: number; broadcastId: number; limit: number }, { position: number }>(`
        select position from retries
        where broadcast_id = :broadcastId and push_service_id = :id and ${comparison}
        order by draw_order
        limit :limit
      `);

  return {
    find: database.prepare<{ origin: string; vapidPublicKey: string }, PushServiceRow>(`
        select id, refusals_in_row, refusals_to_hold, held_since_ms from push_services
        where origin = :origin and vapid_public_key = :vapidPublicKey
      `),
    add: database.prepare<
      { origin: string; vapidPublicKey: string; refusalsToHold: number },
      { id: number }
    >(`
        insert into push_services (origin, vapid_public_key, refusals_to_hold)
        values (:origin, :vapidPublicKey, :refusalsToHold)
        returning id
      `),
    remember: database.prepare<{ id: number; slot: number; subscriptionId: number }>(`
        insert or replace into accepted_subscriptions (push_service_id, slot, subscription_id)
        values (:id, :slot, :subscriptionId)
      `),
    remembered: database.prepare<{ id: number; slot: number }, { subscription_id: number }>(
      'select subscription_id from accepted_subscriptions where push_service_id = :id and slot = :slot',
    ),
    open: database.prepare<{ id: number; refusalsToHold: number }>(`
        update push_services set held_since_ms = null, refusals_to_hold = :refusalsToHold
        where id = :id
      `),
    setRefusals: database.prepare<{ id: number; inRow: number }>(
      'update push_services set refusals_in_row = :inRow where id = :id',
    ),
    hold: database.prepare<{ id: number; nowMs: number; pauseMs: number }>(`
        update push_services set
          held_since_ms = :nowMs, draws = 0, probe_at_ms = :nowMs + :pauseMs
        where id = :id and held_since_ms is null and refusals_in_row >= refusals_to_hold
      `),
    states: database.prepare<
      { nowMs: number; refusalsToHold: number },
      {
        origin: string;
        vapid_public_key: string;
        held_since_ms: number | null;
        refusals_to_hold: number;
        wait_ms: number;
      }
    >(`
        select origin, vapid_public_key, held_since_ms, refusals_to_hold, max(0, wait_until_ms - :nowMs) as wait_ms
        from push_services
        where held_since_ms is not null or refusals_to_hold > :refusalsToHold or wait_until_ms > :nowMs
      `),
    wait: database.prepare<{ id: number; untilMs: number }>(
      'update push_services set wait_until_ms = max(wait_until_ms, :untilMs) where id = :id',
    ),
    findProbes: database.prepare<
      { nowMs: number; broadcastId: number },
      { id: number; draws: number; broadcast_id: number }
    >(`
        select p.id, p.draws, b.id as broadcast_id
        from push_services p cross join broadcasts b
        where p.held_since_ms is not null and p.probe_at_ms <= :nowMs
          and b.state = 'running' and b.start_at_ms <= :nowMs and ${isAsked}
          and exists (select 1 from retries r where r.broadcast_id = b.id and r.push_service_id = p.id)
        order by p.probe_at_ms, random()
        limit 1
      `),
    drawKnown: draw('draw_order < 0'),
    drawOthers: draw('draw_order >= 0'),
    setNextProbes: database.prepare<{ id: number; draws: number; probeAtMs: number }>(
      'update push_services set draws = :draws, probe_at_ms = :probeAtMs where id = :id',
    ),
    release: database.prepare<{ broadcastId: number; limit: number; nowMs: number }>(`
        update retries set due_at_ms = :nowMs, push_service_id = null, draw_order = null
        where (broadcast_id, position) in (
          select r.broadcast_id, r.position
          from broadcasts b cross join push_services p cross join retries r
          where b.state = 'running' and ${isAsked} and p.held_since_ms is null
            and r.broadcast_id = b.id and r.push_service_id = p.id
          limit :limit
        )
      `),
  };
}
