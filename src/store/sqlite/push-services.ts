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
import type { SqliteDatabase } from './database.ts';

interface RefusedRow {
  /** The id of the push service. */
  readonly by: number;
  readonly refusals: number;
  readonly sinceMs: number;
}

export type PushServices = ReturnType<typeof createPushServices>;

// columns that answers change
const numbers = [
  'refusals_in_row',
  'refusals_to_suspend',
  'draws',
  'probe_at_ms',
  'refused_at_ms',
  'known_refused_at_ms',
  'accepted_at_ms',
  'wait_until_ms',
] as const;
const columns = ['suspended_since_ms', ...numbers] as const;

type PushServiceRow = Record<'id' | (typeof numbers)[number], number> & { suspended_since_ms: number | null };

interface StateRow extends Pick<
  PushServiceRow,
  'refusals_to_suspend' | 'suspended_since_ms' | 'accepted_at_ms'
> {
  readonly origin: string;
  readonly vapid_public_key: string;
  readonly wait_ms: number;
}

interface Evidence {
  readonly others_accepted: number;
  readonly only_strangers: number;
  readonly is_key_good: number;
}

interface ProbesRow {
  readonly id: number;
  readonly draws: number;
  readonly suspended_since_ms: number;
  readonly broadcast_id: number;
  readonly expires_at_ms: number;
}

type Drawn = { readonly position: number };

export function createPushServices(database: SqliteDatabase) {
  const findOrAdd = ({ origin, vapidPublicKey }: PushServiceKey): PushServiceRow => {
    const found = database.first<PushServiceRow>(selectByKey, { origin, vapidPublicKey });
    if (found !== undefined) return found;
    const { refusalsToSuspend } = suspensionPolicy;
    return database.first<PushServiceRow>(add, { origin, vapidPublicKey, refusalsToSuspend })!;
  };

  /** True if the push service is known to have accepted a message for this subscription. */
  const wasAccepted = (id: number, subscriptionId: number | undefined): boolean => {
    if (subscriptionId === undefined) return false;
    const slot = subscriptionId % suspensionPolicy.rememberedRows;
    const remembered = database.first(
      `select 1 from accepted_subscriptions
       where push_service_id = :id and slot = :slot and subscription_id = :subscriptionId`,
      { id, slot, subscriptionId },
    );
    return remembered !== undefined;
  };

  /** Usually, no push service is suspended, so there is no need to search the broadcasts for suspended rows. */
  const hasSuspended = (): boolean =>
    database.first('select 1 from retries where push_service_id is not null limit 1') !== undefined;

  const recordOne = (answers: PushServiceAnswers, nowMs: number): void => {
    const { accepted, hasRefused, refusalsInRow, acceptedSubscriptionId, waitMs = 0 } = answers;
    const { refusedSubscriptionIds = [], rejectedSubscriptionIds = [] } = answers;
    if (accepted + refusalsInRow + waitMs + rejectedSubscriptionIds.length === 0) return;
    const known = findOrAdd(answers);
    const { id } = known;
    if (acceptedSubscriptionId !== undefined) {
      const slot = acceptedSubscriptionId % suspensionPolicy.rememberedRows;
      database.run(
        `insert or replace into accepted_subscriptions (push_service_id, slot, subscription_id)
         values (:id, :slot, :subscriptionId)`,
        { id, slot, subscriptionId: acceptedSubscriptionId },
      );
    }
    for (const subscriptionId of rejectedSubscriptionIds) database.run(forget, { id, subscriptionId });

    const row = { ...known };
    const isPossible = known.wait_until_ms <= nowMs + suspensionPolicy.maxWaitMs;
    if (waitMs > 0) row.wait_until_ms = Math.max(isPossible ? known.wait_until_ms : 0, nowMs + waitMs);
    if (hasRefused) row.refused_at_ms = nowMs;
    if (refusedSubscriptionIds.some((refused) => wasAccepted(id, refused))) row.known_refused_at_ms = nowMs;
    // store the time of an acceptance only after a refusal, and as an earlier time if another refusal followed it
    if (accepted > 0 && (hasRefused || known.accepted_at_ms <= known.refused_at_ms))
      row.accepted_at_ms = nowMs - Number(refusalsInRow > 0);
    if (accepted > 0 && known.suspended_since_ms !== null) {
      row.suspended_since_ms = null;
      row.refusals_to_suspend = Math.min(
        2 * known.refusals_to_suspend,
        suspensionPolicy.maxRefusalsToSuspend,
      );
    }
    row.refusals_in_row = refusalsInRow + (accepted > 0 ? 0 : known.refusals_in_row);
    if (row.refusals_in_row >= row.refusals_to_suspend && row.suspended_since_ms === null) {
      row.suspended_since_ms = nowMs;
      row.draws = 0;
      row.probe_at_ms = nowMs + suspensionPolicy.probePauseMs;
    }
    if (columns.some((column) => row[column] !== known[column])) database.run(update, row);
  };

  /** Decides what to do if the push service refuses the row again. */
  const decide = ({ by, refusals, sinceMs }: RefusedRow): IfRefused => {
    const evidence = database.first<Evidence>(
      `select p.accepted_at_ms >= :sinceMs as others_accepted,
              p.known_refused_at_ms <= p.accepted_at_ms as only_strangers,
              exists (select 1 from push_services q
                      where q.vapid_public_key = p.vapid_public_key and q.accepted_at_ms > 0) as is_key_good
       from push_services p where p.id = :by`,
      { by, sinceMs },
    );
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
    record: (answers: readonly PushServiceAnswers[], nowMs: number) =>
      answers.forEach((each) => recordOne(each, nowMs)),

    /** Lists push services whose state differs from the initial one. */
    states: (): readonly PushServiceState[] => {
      const rows = database.all<StateRow>(
        `select origin, vapid_public_key, suspended_since_ms, refusals_to_suspend, accepted_at_ms,
           iif(${isWaiting}, wait_until_ms - :nowMs, 0) as wait_ms
         from push_services
         where suspended_since_ms is not null or refusals_to_suspend > :refusalsToSuspend or ${isWaiting}
           or (accepted_at_ms > 0 and origin in (select origin from unlisted_push_services))`,
        {
          nowMs: database.now(),
          refusalsToSuspend: suspensionPolicy.refusalsToSuspend,
          maxWaitMs: suspensionPolicy.maxWaitMs,
        },
      );
      return rows.map((row) => ({
        origin: row.origin,
        vapidPublicKey: row.vapid_public_key,
        isSuspended: row.suspended_since_ms !== null,
        refusalsToSuspend: row.refusals_to_suspend,
        hasAccepted: row.accepted_at_ms > 0,
        waitMs: row.wait_ms,
      }));
    },

    /** Returns `undefined` if nothing is known about the push service. */
    find: ({ origin, vapidPublicKey }: PushServiceKey) => {
      const found = database.first<PushServiceRow>(selectByKey, { origin, vapidPublicKey });
      return found && { id: found.id, isSuspended: found.suspended_since_ms !== null };
    },

    wasAccepted,
    decide,

    /** Selects rows of a running broadcast that probe their push service now. Ends the suspension if no row is left. */
    drawProbes: (only: number) => {
      database.run(
        `update push_services set suspended_since_ms = null, refusals_in_row = 0
         where suspended_since_ms is not null and draws > 0
           and not exists (select 1 from retries r where r.push_service_id = push_services.id)`,
      );
      if (!hasSuspended()) return undefined;
      const nowMs = database.now();
      const due = database.first<ProbesRow>(selectDueProbes, {
        nowMs,
        only,
        maxProbePauseMs: suspensionPolicy.maxProbePauseMs,
      });
      if (due === undefined) return undefined;
      const { id, draws, broadcast_id: broadcastId } = due;
      const ifRefused = decide({ by: id, refusals: 0, sinceMs: due.suspended_since_ms });
      const { probeRows, lastProbeRows, knownProbeRows, probePauseMs } = suspensionPolicy;
      const rows = ifRefused === 'reject' ? lastProbeRows : probeRows;
      const known = database.all<Drawn>(drawKnown, { id, broadcastId, limit: knownProbeRows });
      const others = database.all<Drawn>(drawOthers, { id, broadcastId, limit: rows - known.length });
      const positions = [...known, ...others].map(({ position }) => position);
      const pauseMs =
        ifRefused === 'reject' ? probePauseMs : pauseAfter(draws + 1, due.expires_at_ms - nowMs);
      database.run('update push_services set draws = :draws, probe_at_ms = :probeAtMs where id = :id', {
        id,
        draws: draws + 1,
        probeAtMs: nowMs + pauseMs,
      });
      return { broadcastId, positions, ifRefused };
    },

    /** When a suspended row of a running broadcast must next be probed or released. */
    nextDue: (only: number): number | undefined => {
      if (!hasSuspended()) return undefined;
      return database.first<{ due_at_ms: number | null }>(selectNextDue, { only })?.due_at_ms ?? undefined;
    },

    /** Makes suspended rows due if their push services are open again, at most `limit`. */
    release: (only: number, limit: number): void => {
      if (!hasSuspended()) return;
      const nowMs = database.now();
      const open = database.all<Pick<ProbesRow, 'id' | 'broadcast_id'>>(selectOpen, { only });
      for (const { id, broadcast_id: broadcastId } of open) {
        if (limit === 0) return;
        limit -= database.run(
          `update retries set due_at_ms = :nowMs, push_service_id = null, draw_order = null
           where broadcast_id = :broadcastId and position in (
             select position from retries where broadcast_id = :broadcastId and push_service_id = :id limit :limit)`,
          { id, broadcastId, limit, nowMs },
        );
        database.run(wakeRetries, { broadcastId, dueAtMs: nowMs });
      }
    },
  };
}

/** @param leftMs time until the broadcast ends; probes must notice before then if messages are accepted again */
function pauseAfter(draws: number, leftMs: number): number {
  const { probePauseMs, quickDraws, maxProbePauseMs } = suspensionPolicy;
  const pauseMs = Math.min(maxProbePauseMs, probePauseMs * 2 ** Math.max(0, draws - quickDraws));
  return Math.max(probePauseMs, Math.min(pauseMs, Math.floor(leftMs / 2)));
}

const isWaiting = '(wait_until_ms > :nowMs and wait_until_ms <= :nowMs + :maxWaitMs)';

const listed = `id, ${columns.join(', ')}`;
const selectByKey = `
  select ${listed} from push_services where origin = :origin and vapid_public_key = :vapidPublicKey`;
const add = `
  insert into push_services (origin, vapid_public_key, refusals_to_suspend)
  values (:origin, :vapidPublicKey, :refusalsToSuspend) returning ${listed}`;
const update = `
  update push_services set ${columns.map((column) => `${column} = :${column}`).join(', ')} where id = :id`;

const forget = `
  delete from accepted_subscriptions
  where push_service_id = :id and slot = :subscriptionId % ${suspensionPolicy.rememberedRows}
    and subscription_id = :subscriptionId`;

const suspendedWork = `
  push_services p cross join work w cross join broadcasts b on b.id = w.broadcast_id
  where (:only = ${anyBroadcast} or w.broadcast_id = :only)
    and exists (select 1 from retries r where r.push_service_id = p.id and r.broadcast_id = w.broadcast_id)`;

// a probe time that is further ahead than the longest pause was stored while the clock was ahead, so the probe is due
const selectDueProbes = `
  select p.id, p.draws, p.suspended_since_ms, b.id as broadcast_id, b.expires_at_ms
  from ${suspendedWork}
    and p.suspended_since_ms is not null
    and p.probe_at_ms not between :nowMs + 1 and :nowMs + :maxProbePauseMs and b.start_at_ms <= :nowMs
  order by p.probe_at_ms, random()
  limit 1`;

const selectNextDue = `
  select min(max(b.start_at_ms, iif(p.suspended_since_ms is null, 0, p.probe_at_ms))) as due_at_ms
  from ${suspendedWork}`;

const selectOpen = `select p.id, w.broadcast_id from ${suspendedWork} and p.suspended_since_ms is null`;

const draw = (comparison: string): string => `
  select position from retries
  where broadcast_id = :broadcastId and push_service_id = :id and draw_order ${comparison} 0
  order by draw_order
  limit :limit`;
const drawKnown = draw('<');
const drawOthers = draw('>=');

/** Notes in the table `work` when the broadcast's next retry is due, if the new retry is due before the others. */
export const wakeRetries = `
  update work set retries_at_ms = :dueAtMs
  where broadcast_id = :broadcastId and (retries_at_ms is null or retries_at_ms > :dueAtMs)`;
