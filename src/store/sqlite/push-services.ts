// Suspended push services in SQLite: records the responses that workers report, decides what is suspended, selects rows
// as probes, and releases rows. Call all functions inside a transaction.
import { anyBroadcast } from '../leases.ts';
import {
  suspensionPolicy,
  decideRefusal,
  type IfRefused,
  type PushServiceAnswers,
  type PushServiceKey,
  type PushServiceState,
} from '../push-services.ts';
import type { NoValues, SqliteDatabase } from './database.ts';

export interface PushServices {
  record(answers: readonly PushServiceAnswers[], nowMs: number): void;
  /** Lists push services whose state differs from the initial one. */
  states(): readonly PushServiceState[];
  /** Returns `undefined` if nothing is known about the push service. */
  find(key: PushServiceKey): { readonly id: number; readonly isSuspended: boolean } | undefined;
  /** True if the push service is known to have accepted a message for this subscription. */
  wasAccepted(id: number, subscriptionId: number | undefined): boolean;
  /** Decides what happens if the push service refuses the row again. */
  decide(refused: { readonly by: number; readonly refusals: number; readonly sinceMs: number }): IfRefused;
  /** Selects rows of a running broadcast to probe their push service now. Ends the suspension if no row is left. */
  drawProbes(broadcastId: number): Draw | undefined;
  /** When the first suspended row of a running broadcast must be probed or released. */
  nextDue(broadcastId: number): number | undefined;
  /** Makes suspended rows due if their push services are open again, at most `limit`. */
  release(broadcastId: number, limit: number): void;
}

export interface Draw {
  readonly broadcastId: number;
  readonly positions: readonly number[];
  readonly ifRefused: IfRefused;
}

interface PushServiceRow {
  readonly id: number;
  readonly refusals_in_row: number;
  readonly refusals_to_suspend: number;
  readonly suspended_since_ms: number | null;
  readonly refused_at_ms: number;
  readonly accepted_at_ms: number;
}

export function createPushServices(database: SqliteDatabase): PushServices {
  const statements = prepareStatements(database);

  const findOrAdd = ({ origin, vapidPublicKey }: PushServiceKey): PushServiceRow => {
    const found = statements.find.first({ origin, vapidPublicKey });
    if (found !== undefined) return found;
    const { refusalsToSuspend } = suspensionPolicy;
    return statements.add.first({ origin, vapidPublicKey, refusalsToSuspend })!;
  };

  const wasAccepted = (id: number, subscriptionId: number | undefined): boolean => {
    if (subscriptionId === undefined) return false;
    const slot = subscriptionId % suspensionPolicy.rememberedRows;
    return statements.remembered.first({ id, slot })?.subscription_id === subscriptionId;
  };

  /** If nothing is suspended, as usual, broadcasts need not be searched. */
  const hasSuspended = (): boolean => statements.anySuspended.first({}) !== undefined;

  const recordOne = (answers: PushServiceAnswers, nowMs: number): void => {
    const { accepted, hasRefused, refusalsInRow, acceptedSubscriptionId, waitMs = 0 } = answers;
    const { refusedSubscriptionIds = [], rejectedSubscriptionIds = [] } = answers;
    if (accepted + refusalsInRow + waitMs + rejectedSubscriptionIds.length === 0) return;
    const known = findOrAdd(answers);
    const { id } = known;
    if (waitMs > 0) statements.wait.run({ id, untilMs: nowMs + waitMs });
    if (acceptedSubscriptionId !== undefined) {
      const slot = acceptedSubscriptionId % suspensionPolicy.rememberedRows;
      statements.remember.run({ id, slot, subscriptionId: acceptedSubscriptionId });
    }
    for (const subscriptionId of rejectedSubscriptionIds) statements.forget.run({ id, subscriptionId });
    if (refusedSubscriptionIds.some((refused) => wasAccepted(id, refused)))
      statements.refuseKnown.run({ id, nowMs });
    if (accepted > 0 && known.suspended_since_ms !== null) {
      const { maxRefusalsToSuspend } = suspensionPolicy;
      statements.open.run({
        id,
        refusalsToSuspend: Math.min(2 * known.refusals_to_suspend, maxRefusalsToSuspend),
      });
    }
    const inRow = accepted > 0 ? refusalsInRow : known.refusals_in_row + refusalsInRow;
    // an acceptance is news only after a refusal
    const isNews = accepted > 0 && (hasRefused || known.accepted_at_ms <= known.refused_at_ms);
    if (inRow !== known.refusals_in_row || hasRefused || isNews) {
      statements.setAnswers.run({
        id,
        inRow,
        refusedAtMs: hasRefused ? nowMs : known.refused_at_ms,
        // a refusal that came after the acceptance must have a later time
        acceptedAtMs: isNews ? nowMs - Number(refusalsInRow > 0) : known.accepted_at_ms,
      });
    }
    if (inRow < known.refusals_to_suspend) return;
    statements.suspend.run({ id, nowMs, pauseMs: suspensionPolicy.probePauseMs });
  };

  const decide: PushServices['decide'] = ({ by, refusals, sinceMs }) => {
    const evidence = statements.evidence.first({ id: by, sinceMs });
    if (evidence === undefined) return 'suspend';
    return decideRefusal({
      refusals,
      waitedMs: database.now() - sinceMs,
      othersAccepted: evidence.others_accepted === 1,
      onlyNeverAccepted: evidence.only_strangers === 1,
      isKeyGood: evidence.is_key_good === 1,
    });
  };

  return {
    record: (answers, nowMs) => answers.forEach((each) => recordOne(each, nowMs)),

    states: () =>
      statements.states
        .all({ nowMs: database.now(), refusalsToSuspend: suspensionPolicy.refusalsToSuspend })
        .map((row) => ({
          origin: row.origin,
          vapidPublicKey: row.vapid_public_key,
          isSuspended: row.suspended_since_ms !== null,
          refusalsToSuspend: row.refusals_to_suspend,
          hasAccepted: row.accepted_at_ms > 0,
          waitMs: row.wait_ms,
        })),

    find: ({ origin, vapidPublicKey }) => {
      const found = statements.find.first({ origin, vapidPublicKey });
      return found && { id: found.id, isSuspended: found.suspended_since_ms !== null };
    },

    wasAccepted,
    decide,

    drawProbes: (only) => {
      statements.endSuspensions.run({});
      const nowMs = database.now();
      const due = hasSuspended() ? statements.findProbes.first({ nowMs, broadcastId: only }) : undefined;
      if (due === undefined) return undefined;
      const { id, draws, broadcast_id: broadcastId } = due;
      const ifRefused = decide({ by: id, refusals: 0, sinceMs: due.suspended_since_ms });
      const { probeRows, lastProbeRows, knownProbeRows, probePauseMs } = suspensionPolicy;
      const rows = ifRefused === 'reject' ? lastProbeRows : probeRows;
      const known = statements.drawKnown.all({ id, broadcastId, limit: knownProbeRows });
      const others = statements.drawOthers.all({ id, broadcastId, limit: rows - known.length });
      const positions = [...known, ...others].map(({ position }) => position);
      const pauseMs =
        ifRefused === 'reject' ? probePauseMs : pauseAfter(draws + 1, due.expires_at_ms - nowMs);
      statements.setNextProbes.run({ id, draws: draws + 1, probeAtMs: nowMs + pauseMs });
      return { broadcastId, positions, ifRefused };
    },

    nextDue: (broadcastId) =>
      hasSuspended() ? (statements.nextDue.first({ broadcastId })?.due_at_ms ?? undefined) : undefined,

    release: (only, limit) => {
      if (!hasSuspended()) return;
      const nowMs = database.now();
      for (const { id, broadcast_id: broadcastId } of statements.findOpen.all({ broadcastId: only })) {
        if (limit === 0) return;
        limit -= statements.release.run({ id, broadcastId, limit, nowMs });
        statements.wake.run({ broadcastId, dueAtMs: nowMs });
      }
    },
  };
}

/** @param leftMs time until the broadcast ends; probes must notice the end of the refusals before that */
function pauseAfter(draws: number, leftMs: number): number {
  const { probePauseMs, quickDraws, maxProbePauseMs } = suspensionPolicy;
  const pauseMs = Math.min(maxProbePauseMs, probePauseMs * 2 ** Math.max(0, draws - quickDraws));
  return Math.max(probePauseMs, Math.min(pauseMs, Math.floor(leftMs / 2)));
}

function prepareStatements(database: SqliteDatabase) {
  const columns =
    'id, refusals_in_row, refusals_to_suspend, suspended_since_ms, refused_at_ms, accepted_at_ms';
  const suspendedWork = `
    push_services p cross join work w cross join broadcasts b on b.id = w.broadcast_id
    where (:broadcastId = ${anyBroadcast} or w.broadcast_id = :broadcastId)
      and exists (select 1 from retries r where r.push_service_id = p.id and r.broadcast_id = w.broadcast_id)`;
  const draw = (comparison: string) =>
    database.prepare<{ id: number; broadcastId: number; limit: number }, { position: number }>(`
        select position from retries
        where broadcast_id = :broadcastId and push_service_id = :id and ${comparison}
        order by draw_order
        limit :limit
      `);

  return {
    find: database.prepare<{ origin: string; vapidPublicKey: string }, PushServiceRow>(`
        select ${columns} from push_services
        where origin = :origin and vapid_public_key = :vapidPublicKey
      `),
    add: database.prepare<
      { origin: string; vapidPublicKey: string; refusalsToSuspend: number },
      PushServiceRow
    >(`
        insert into push_services (origin, vapid_public_key, refusals_to_suspend)
        values (:origin, :vapidPublicKey, :refusalsToSuspend)
        returning ${columns}
      `),
    remember: database.prepare<{ id: number; slot: number; subscriptionId: number }>(`
        insert or replace into accepted_subscriptions (push_service_id, slot, subscription_id)
        values (:id, :slot, :subscriptionId)
      `),
    remembered: database.prepare<{ id: number; slot: number }, { subscription_id: number }>(
      'select subscription_id from accepted_subscriptions where push_service_id = :id and slot = :slot',
    ),
    open: database.prepare<{ id: number; refusalsToSuspend: number }>(`
        update push_services set suspended_since_ms = null, refusals_to_suspend = :refusalsToSuspend
        where id = :id
      `),
    setAnswers: database.prepare<{ id: number; inRow: number; refusedAtMs: number; acceptedAtMs: number }>(`
        update push_services set
          refusals_in_row = :inRow, refused_at_ms = :refusedAtMs, accepted_at_ms = :acceptedAtMs
        where id = :id
      `),
    refuseKnown: database.prepare<{ id: number; nowMs: number }>(
      'update push_services set known_refused_at_ms = :nowMs where id = :id',
    ),
    forget: database.prepare<{ id: number; subscriptionId: number }>(`
        delete from accepted_subscriptions
        where push_service_id = :id and slot = :subscriptionId % ${suspensionPolicy.rememberedRows}
          and subscription_id = :subscriptionId
      `),
    evidence: database.prepare<
      { id: number; sinceMs: number },
      { others_accepted: number; only_strangers: number; is_key_good: number }
    >(`
        select p.accepted_at_ms >= :sinceMs as others_accepted,
               p.known_refused_at_ms <= p.accepted_at_ms as only_strangers,
               exists (select 1 from push_services q
                       where q.vapid_public_key = p.vapid_public_key and q.accepted_at_ms > 0) as is_key_good
        from push_services p where p.id = :id
      `),
    suspend: database.prepare<{ id: number; nowMs: number; pauseMs: number }>(`
        update push_services set
          suspended_since_ms = :nowMs, draws = 0, probe_at_ms = :nowMs + :pauseMs
        where id = :id and suspended_since_ms is null and refusals_in_row >= refusals_to_suspend
      `),
    endSuspensions: database.prepare<NoValues>(`
        update push_services set suspended_since_ms = null, refusals_in_row = 0
        where suspended_since_ms is not null and draws > 0
          and not exists (select 1 from retries r where r.push_service_id = push_services.id)
      `),
    states: database.prepare<
      { nowMs: number; refusalsToSuspend: number },
      {
        origin: string;
        vapid_public_key: string;
        suspended_since_ms: number | null;
        refusals_to_suspend: number;
        accepted_at_ms: number;
        wait_ms: number;
      }
    >(`
        select origin, vapid_public_key, suspended_since_ms, refusals_to_suspend, accepted_at_ms, max(0, wait_until_ms - :nowMs) as wait_ms
        from push_services
        where suspended_since_ms is not null or refusals_to_suspend > :refusalsToSuspend or wait_until_ms > :nowMs
          or (accepted_at_ms > 0 and origin in (select origin from unlisted_push_services))
      `),
    wait: database.prepare<{ id: number; untilMs: number }>(
      'update push_services set wait_until_ms = max(wait_until_ms, :untilMs) where id = :id',
    ),
    findProbes: database.prepare<
      { nowMs: number; broadcastId: number },
      { id: number; draws: number; suspended_since_ms: number; broadcast_id: number; expires_at_ms: number }
    >(`
        select p.id, p.draws, p.suspended_since_ms, b.id as broadcast_id, b.expires_at_ms
        from ${suspendedWork}
          and p.suspended_since_ms is not null and p.probe_at_ms <= :nowMs and b.start_at_ms <= :nowMs
        order by p.probe_at_ms, random()
        limit 1
      `),
    drawKnown: draw('draw_order < 0'),
    drawOthers: draw('draw_order >= 0'),
    setNextProbes: database.prepare<{ id: number; draws: number; probeAtMs: number }>(
      'update push_services set draws = :draws, probe_at_ms = :probeAtMs where id = :id',
    ),
    anySuspended: database.prepare<NoValues, object>(
      'select 1 from retries where push_service_id is not null limit 1',
    ),
    nextDue: database.prepare<{ broadcastId: number }, { due_at_ms: number | null }>(`
        select min(max(b.start_at_ms, iif(p.suspended_since_ms is null, 0, p.probe_at_ms))) as due_at_ms
        from ${suspendedWork}
      `),
    findOpen: database.prepare<{ broadcastId: number }, { id: number; broadcast_id: number }>(
      `select p.id, w.broadcast_id from ${suspendedWork} and p.suspended_since_ms is null`,
    ),
    release: database.prepare<{ id: number; broadcastId: number; limit: number; nowMs: number }>(`
        update retries set due_at_ms = :nowMs, push_service_id = null, draw_order = null
        where broadcast_id = :broadcastId and position in (
          select position from retries where broadcast_id = :broadcastId and push_service_id = :id limit :limit
        )
      `),
    wake: database.prepare<{ broadcastId: number; dueAtMs: number }>(wakeRetries),
  };
}

/** Records in the table of work that a retry is due at this time. */
export const wakeRetries = `
  update work set retries_at_ms = :dueAtMs
  where broadcast_id = :broadcastId and (retries_at_ms is null or retries_at_ms > :dueAtMs)`;
