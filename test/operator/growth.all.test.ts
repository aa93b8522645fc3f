// What statements cost on SQLite: the steps of its virtual machine, those of triggers included.
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { describeGrowth, insertsOf, type Cost } from './growth-suite.ts';

type Counting = StatementSync & { stat(counter: 'vmStep'): number; resetStats(): void };

/** Of what is not the same each time: ids that are longer, rows of a page that differ. */
const costOf = (steps: number): Cost => ({ cost: steps, mayGrowBy: Math.ceil(steps / 4) + 300 });

const series = (first: number, last: number): string =>
  `(with recursive n (i) as (select ${first + 1} union all select i + 1 from n where i < ${last}) select i from n) n`;

describeGrowth('SQLite', {
  async fill({ address }, from, to) {
    using database = new DatabaseSync((address.options as { readonly path: string }).path);
    database.exec('pragma synchronous = off');
    database.exec(`
      begin;
      insert into subscriptions (endpoint, p256dh, auth, vapid_key_id, created_at_ms, updated_at_ms, user_name)
        select 'https://fcm.googleapis.com/fcm/send/' || i, randomblob(65), randomblob(16),
               (select min(id) from vapid_keys), ${Date.now()}, ${Date.now()}, 'user-' || i
        from ${series(from.subscriptions, to.subscriptions)};
      insert into subscription_tags (tag, subscription_id)
        select iif(id % 5000 = 7, 'rare', 'news'), id from subscriptions where user_name like 'user-%' on conflict do nothing;
      create temp table made as
        select i, i <= ${to.open - from.open} as is_open, (select coalesce(max(id), 0) from broadcasts) + i as id
        from ${series(0, to.open - from.open + to.past - from.past)};
      ${insertsOf(from, to, { series, bytes: (hex) => `x'${hex}'`, overriding: '' })}
      insert into gone_marks (subscription_id, origin, answer_window, marked_at_ms, updated_at_ms, is_held)
        select id, 'https://fcm.googleapis.com', 1, id, updated_at_ms, 0 from subscriptions where id % 100 = 3 on conflict do nothing;
      update gone_marks set is_held = 1 where is_held = 0;
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
