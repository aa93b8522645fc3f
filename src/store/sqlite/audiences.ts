// Whom a broadcast is for: all subscriptions, or a list that is written down first, member by member.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { normalizeEndpoint } from '../../protocol/endpoint.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import type { Extent } from '../slices.ts';
import type { AudienceExpression } from '../../audience/user-and-tags.ts';
import { inBatches } from './in-batches.ts';
import { createAudienceFilter } from './audience-filter.ts';
import type { SqliteDatabase } from './database.ts';
import type { NoValues } from './statement.ts';

const unusedForMs = 24 * 60 * 60 * 1000;
const deleteBatchRows = 5000;
/** A transaction with so many candidates takes some tens of milliseconds. */
const matchingBatchRows = 10_000;

export interface Audiences {
  open(): Promise<number>;
  openMatching(expression: AudienceExpression): Promise<number>;
  add(audienceId: number, members: readonly (number | Subscription)[]): Promise<void>;
  /** Inside a transaction. @param audienceId absent for all subscriptions */
  extent(audienceId: number | undefined): Extent;
}

export function createAudiences(database: SqliteDatabase): Audiences {
  const statements = prepareStatements(database);
  const matching = createAudienceFilter(database);

  const dropUnused = async () => {
    const oldestMs = database.now() - unusedForMs;
    await inBatches(database, () => statements.dropMembers.run({ oldestMs }) === deleteBatchRows);
    await database.write(() => statements.drop.run({ oldestMs }));
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
              endpoint: normalizeEndpoint(member.endpoint),
              p256dh: member.p256dh,
              auth: member.auth,
            });
    }
    statements.setMembers.run({ audienceId, members: count });
  };

  const open = (): Promise<number> =>
    database.write(() => {
      const row = statements.open.first({ nowMs: database.now() });
      if (row === undefined) throw new Error('The list of recipients was not stored.');
      return row.id;
    });

  /** @returns where the next range begins */
  const addRange = (
    audienceId: number,
    expression: AudienceExpression,
    afterId: number,
  ): number | undefined => {
    const range = matching.rangeAfter(expression, afterId, matchingBatchRows);
    const members = statements.find.first({ audienceId })?.members ?? 0;
    statements.setMembers.run({ audienceId, members: members + range.add(audienceId, members) });
    return range.throughId;
  };

  const openMatching = async (expression: AudienceExpression): Promise<number> => {
    const audienceId = await open();
    let afterId = 0;
    await inBatches(database, () => {
      const throughId = addRange(audienceId, expression, afterId);
      afterId = throughId ?? afterId;
      return throughId !== undefined;
    });
    // Nobody waits for it. What is left when the store is closed goes with the next list.
    dropUnused().catch(() => {});
    return audienceId;
  };

  return {
    open: async () => {
      await dropUnused();
      return open();
    },
    openMatching,
    add: (audienceId, members) => database.write(() => add(audienceId, members)),
    extent: (audienceId) => {
      if (audienceId === undefined) {
        const { rows = 0, first, last } = statements.extentOfAll.first({}) ?? {};
        return { rows, firstPosition: first ?? 1, lastPosition: last ?? 0 };
      }
      const rows = statements.find.first({ audienceId })?.members ?? 0;
      return { rows, firstPosition: 1, lastPosition: rows };
    },
  };
}

function prepareStatements(database: SqliteDatabase) {
  const isUnused = `
    id not in (select audience_id from broadcasts
               where audience_id is not null and state in ('running', 'paused'))
    and (created_at_ms < :oldestMs
         or id in (select audience_id from broadcasts where audience_id is not null))`;

  return {
    open: database.prepare<{ nowMs: number }, { id: number }>(
      'insert into audiences (created_at_ms) values (:nowMs) returning id',
    ),
    find: database.prepare<{ audienceId: number }, { members: number }>(
      'select members from audiences where id = :audienceId',
    ),
    setMembers: database.prepare<{ audienceId: number; members: number }>(
      'update audiences set members = :members where id = :audienceId',
    ),
    addId: database.prepare<{ audienceId: number; position: number; subscriptionId: number }>(`
        insert into audience_members (audience_id, position, subscription_id)
        values (:audienceId, :position, :subscriptionId)
        on conflict do nothing
      `),
    addSubscription: database.prepare<{
      audienceId: number;
      position: number;
      endpoint: string;
      p256dh: Uint8Array;
      auth: Uint8Array;
    }>(`
        insert into audience_members (audience_id, position, endpoint, p256dh, auth)
        values (:audienceId, :position, :endpoint, :p256dh, :auth)
        on conflict do nothing
      `),
    extentOfAll: database.prepare<NoValues, { rows: number; first: number | null; last: number | null }>(`
        select (select coalesce(sum(subscriptions), 0) from vapid_keys) as rows,
               (select min(id) from subscriptions) as first,
               (select max(id) from subscriptions) as last
      `),
    dropMembers: database.prepare<{ oldestMs: number }>(`
        delete from audience_members where (audience_id, position) in (
          select m.audience_id, m.position from audience_members m
          where m.audience_id in (select id from audiences where ${isUnused})
          limit ${deleteBatchRows}
        )
      `),
    // A list that has only just come to be unused still has members: deleted with it, a million would be one transaction.
    drop: database.prepare<{ oldestMs: number }>(`
        delete from audiences where ${isUnused}
          and not exists (select 1 from audience_members m where m.audience_id = audiences.id)
      `),
  };
}
