// Whom a broadcast is for: all subscriptions, or a list that is written down first, member by member.
import type { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Subscription } from '../../webpush/subscription.ts';
import type { GroupCommit } from './group-commit.ts';
import { parameter, prepare, queries, written } from './statement.ts';

const unusedForMs = 24 * 60 * 60 * 1000;
const dropMembersAtOnce = 20_000;

/** The positions of an audience, and how many of them are rows. */
export interface Extent {
  readonly rows: number;
  readonly firstPosition: number;
  readonly lastPosition: number;
}

export interface Audiences {
  open(): Promise<number>;
  add(audienceId: number, members: readonly (number | Subscription)[]): Promise<void>;
  /** Inside a transaction. @param audienceId absent for all subscriptions */
  extent(audienceId: number | undefined): Extent;
}

export function createAudiences(database: DatabaseSync, commits: GroupCommit, now: () => number): Audiences {
  const statements = prepareStatements(database);

  const dropUnused = async () => {
    const oldestMs = now() - unusedForMs;
    // in portions, so that other writers get their turn
    while ((await commits.write(() => statements.dropMembers.run({ oldestMs }))) === dropMembersAtOnce);
    await commits.write(() => statements.drop.run({ oldestMs }));
  };

  const add = (audienceId: number, members: readonly (number | Subscription)[]) => {
    const audience = statements.find.first({ audienceId });
    if (audience === undefined) {
      throw new DeskbellError('ERR_FIELD_VALUE', `There is no list of recipients ${audienceId}.`);
    }
    let count = audience.members;
    for (const member of members) {
      const position = count + 1;
      count +=
        typeof member === 'number'
          ? statements.addId.run({ audienceId, position, subscriptionId: member })
          : statements.addSubscription.run({
              audienceId,
              position,
              endpoint: member.endpoint,
              p256dh: member.p256dh,
              auth: member.auth,
            });
    }
    statements.setMembers.run({ audienceId, members: count });
  };

  return {
    open: async () => {
      await dropUnused();
      return commits.write(() => {
        const row = statements.open.first({ nowMs: now() });
        if (row === undefined) throw new Error('The list of recipients was not stored.');
        return row.id;
      });
    },
    add: (audienceId, members) => commits.write(() => add(audienceId, members)),
    extent: (audienceId) => {
      if (audienceId === undefined) {
        const { rows = 0, first, last } = statements.extentOfAll.first() ?? {};
        return { rows, firstPosition: first ?? 1, lastPosition: last ?? 0 };
      }
      const rows = statements.find.first({ audienceId })?.members ?? 0;
      return { rows, firstPosition: 1, lastPosition: rows };
    },
  };
}

function prepareStatements(database: DatabaseSync) {
  const audienceId = parameter<number>('audienceId');
  const position = parameter<number>('position');
  const isUnused = sql`
    id not in (select audience_id from broadcasts
               where audience_id is not null and state in ('running', 'paused'))
    and (created_at_ms < ${parameter<number>('oldestMs')}
         or id in (select audience_id from broadcasts where audience_id is not null))`;

  return {
    open: prepare(
      database,
      queries
        .insertInto('audiences')
        .values({ created_at_ms: parameter<number>('nowMs') })
        .returning('id'),
    ),
    find: prepare(database, queries.selectFrom('audiences').select('members').where('id', '=', audienceId)),
    setMembers: prepare(
      database,
      queries
        .updateTable('audiences')
        .set({ members: parameter<number>('members') })
        .where('id', '=', audienceId),
    ),
    addId: prepare(
      database,
      queries
        .insertInto('audience_members')
        .values({
          audience_id: audienceId,
          position,
          subscription_id: parameter<number>('subscriptionId'),
        })
        .onConflict((conflict) => conflict.doNothing()),
    ),
    addSubscription: prepare(
      database,
      queries
        .insertInto('audience_members')
        .values({
          audience_id: audienceId,
          position,
          endpoint: parameter<string>('endpoint'),
          p256dh: parameter<Uint8Array>('p256dh'),
          auth: parameter<Uint8Array>('auth'),
        })
        .onConflict((conflict) => conflict.doNothing()),
    ),
    extentOfAll: prepare(
      database,
      written(
        sql<{ rows: number; first: number | null; last: number | null }>`
          select (select count(*) from subscriptions) as rows,
                 (select min(id) from subscriptions) as first,
                 (select max(id) from subscriptions) as last
        `,
      ),
    ),
    dropMembers: prepare(
      database,
      written(sql`
        delete from audience_members where (audience_id, position) in (
          select m.audience_id, m.position from audience_members m
          where m.audience_id in (select id from audiences where ${isUnused})
          limit ${dropMembersAtOnce}
        )
      `),
    ),
    drop: prepare(database, written(sql`delete from audiences where ${isUnused}`)),
  };
}
