// What statements cost on SQLite: the steps of its virtual machine, those of triggers included.
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { describeGrowth, type Cost } from './growth-suite.ts';

type Counting = StatementSync & { stat(counter: 'vmStep'): number; resetStats(): void };

/** Of what is not the same each time: ids that are longer, rows of a page that differ. */
const costOf = (steps: number): Cost => ({ cost: steps, mayGrowBy: Math.ceil(steps / 4) + 300 });

const series = (first: number, last: number): string =>
  `(with recursive n (i) as (select ${first + 1} union all select i + 1 from n where i < ${last}) select i from n) n`;

describeGrowth('SQLite', {
  async fill({ address }, from, to) {
    using database = new DatabaseSync((address.options as { readonly path: string }).path);
    database.exec('pragma synchronous = off');
    const nowMs = Date.now();
    const hour = 3_600_000;
    const slices = to.subscriptions / 2000;
    database.exec(`
      begin;
      insert into subscriptions (endpoint, p256dh, auth, vapid_key_id, created_at_ms, updated_at_ms, user_name)
        select 'https://fcm.googleapis.com/fcm/send/' || i, randomblob(65), randomblob(16),
               (select min(id) from vapid_keys), ${nowMs}, ${nowMs}, 'user-' || i
        from ${series(from.subscriptions, to.subscriptions)};
      insert into subscription_tags (tag, subscription_id)
        select iif(id % 5000 = 7, 'rare', 'news'), id from subscriptions where user_name like 'user-%' on conflict do nothing;
      insert into people (user_name, data, updated_at_ms)
        select 'user-' || i, '{"name":"Ada"}', 1 from ${series(from.subscriptions, to.subscriptions)};
      create temp table made as
        select i, i <= ${to.open - from.open} as is_open, (select coalesce(max(id), 0) from broadcasts) + i as id
        from ${series(0, to.open - from.open + to.past - from.past)};
      insert into broadcasts (id, content_hash, state, payload, ttl_seconds, urgency, rows_in, audience, created_at_ms,
          start_at_ms, expires_at_ms, finished_at_ms, attempts_dropped_at_ms, removals_after)
        select id, randomblob(32),
          case when not is_open then iif(i % 2, 'done', 'cancelled') when i % 10 = 0 then 'paused' else 'running' end,
          cast('{"title":"Hello","message":"World"}' as blob), 3600, 'normal', 'all', 20000, ${nowMs},
          ${nowMs} + iif(is_open and i % 10 > 6, ${hour}, -${hour}), ${nowMs + 2 * hour}, iif(is_open, null, ${nowMs - 1000}),
          iif(is_open, null, 1), 0
        from made;
      insert into slices (broadcast_id, number, cursor, through_position)
        select id, n.i - 1, n.i * 900, (n.i + 1) * 900 from made cross join ${series(0, slices)} where is_open;
      insert into retries (broadcast_id, position, due_at_ms, attempts, deferrals, expires_at_ms)
        select id, n.i, ${nowMs + hour}, 1, 0, ${nowMs + 2 * hour} from made cross join ${series(0, 10)} where is_open;
      insert into origin_counts (broadcast_id, origin, attempts, accepted, gone, rejected, expired, exhausted)
        select id, 'https://fcm.googleapis.com', 10, 8, 1, 1, 0, 0 from made;
      insert into answers (broadcast_id, id, origin, outcome, status) select id, 5, 'https://fcm.googleapis.com', 'rejected', 400 from made;
      insert into answer_counts (broadcast_id, answer_id, rows, last_at_ms) select id, 5, 1, 1 from made;
      insert into attempt_sets (broadcast_id, at_ms, since_ms, outcome, attempt, answer_id, first_id, last_id, rows, ids)
        select id, 1, 1, 'rejected', 1, 5, 1, 3, 2, x'0102' from made
        union all select 1, 1, 1, outcome.value, 1, 5, 1, 3, 2, x'0102'
        from json_each('["accepted", "retry", "rejected", "gone"]') outcome cross join ${series(0, 200)} where ${from.open} = 0;
      insert into receipts (broadcast_id, subscription_id, event)
        select id, n.i, 'shown' from made cross join ${series(0, 20)};
      insert into person_reaches (person, broadcast_id, at_ms, is_accepted)
        select 'user:user-' || n.i, id, ${nowMs}, 1 from made cross join ${series(0, 5)};
      insert into gone_marks (subscription_id, origin, answer_window, marked_at_ms, updated_at_ms, is_held)
        select id, 'https://fcm.googleapis.com', 1, id, updated_at_ms, 0 from subscriptions where id % 100 = 3 on conflict do nothing;
      update gone_marks set is_held = 1 where is_held = 0;
      insert into audit (at_ms, operator, action) select ${nowMs}, 'ann', 'broadcast.pause' from made;
      drop table made;
      commit`);
  },

  measure() {
    const costs = new Map<string, Cost>();
    const { all, get, run } = StatementSync.prototype;
    const counted = (call: typeof all | typeof get | typeof run) =>
      function (this: Counting, ...values: Parameters<StatementSync['all']>): unknown {
        this.resetStats();
        try {
          return Reflect.apply(call, this, values);
        } finally {
          const steps = this.stat('vmStep');
          if (steps > (costs.get(this.sourceSQL)?.cost ?? -1)) costs.set(this.sourceSQL, costOf(steps));
        }
      };
    Object.assign(StatementSync.prototype, { all: counted(all), get: counted(get), run: counted(run) });
    return () => {
      Object.assign(StatementSync.prototype, { all, get, run });
      return costs;
    };
  },
});
