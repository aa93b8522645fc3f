// Audiences: all subscriptions, lists of subscriptions that need not be stored, or sets of ids.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { normalizeEndpoint } from '../../protocol/endpoint.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import type { MemberFinder } from '../preparations.ts';
import { isInactive } from '../receipts.ts';
import { cutSet, joinIds, type Extent } from '../slices.ts';
import { createAudienceFilter } from './audience-filter.ts';
import type { SqliteDatabase } from './database.ts';
import { runPortable } from './portable-database.ts';
import type { NoValues } from './statement.ts';

/** Of a slice. Looking at as many candidates as 10,000 takes some tens of milliseconds. */
const candidatesOfRow = 5;
const maxCandidates = 10_000;
/** Of one transaction: few slices, where few of the candidates are members. */
const maxLooks = 10;

export interface Audiences {
  readonly finder: MemberFinder;
  add(audienceId: number, members: readonly Subscription[]): Promise<void>;
  /** Inside a transaction. @param audienceId absent for all subscriptions */
  extent(audienceId: number | undefined): Extent;
}

export function createAudiences(database: SqliteDatabase): Audiences {
  const statements = prepareAudienceStatements(database);
  const filter = createAudienceFilter(database);

  const add = (audienceId: number, members: readonly Subscription[]) => {
    const audience = statements.find.first({ audienceId });
    if (audience === undefined) {
      throw new DeskbellError('ERR_FIELD_VALUE', `There is no list of recipients ${audienceId}.`);
    }
    let count = audience.members;
    for (const { endpoint, p256dh, auth } of members) {
      const position = count + 1;
      count += statements.add.run({
        audienceId,
        position,
        endpoint: normalizeEndpoint(endpoint),
        p256dh,
        auth,
      });
    }
    statements.setMembers.run({ audienceId, members: count });
  };

  return {
    add: (audienceId, members) => database.write(() => add(audienceId, members)),
    extent: (audienceId) => {
      if (audienceId === undefined) {
        const { rows = 0, first, last } = statements.extentOfAll.first({}) ?? {};
        return { rows, firstPosition: first ?? 1, lastPosition: last ?? 0 };
      }
      const rows = statements.find.first({ audienceId })?.members ?? 0;
      return { rows, firstPosition: 1, lastPosition: rows };
    },
    finder: {
      findMatching: async (expression, { afterId, throughId: lastId, width, sliceRows }) => {
        const ids: number[] = [];
        const candidates = Math.min(maxCandidates, candidatesOfRow * sliceRows);
        let throughId = afterId;
        for (let look = 0; look < maxLooks && ids.length < sliceRows && throughId < lastId; look += 1) {
          const range = await database.read(() => {
            const found = filter.rangeAfter(expression, throughId, candidates);
            return { throughId: found.throughId ?? lastId, ids: found.ids };
          });
          for (const id of range.ids) if (id <= lastId) ids.push(id);
          throughId = range.throughId;
        }
        return { sets: cutSet({ ids }, sliceRows), throughId, width };
      },
      cutSets: async (ids, sliceRows) => cutSet({ ids }, sliceRows),
      slicesToSplit: 16,
      readersOf: ({ ids }, { channel, skipInactive }) =>
        database.read(() => {
          const rows = runPortable(database, {
            sql: selectReaders(skipInactive),
            values: {
              ids: JSON.stringify(ids),
              channel: channel?.name ?? null,
              isOn: channel?.isOnByDefault ?? true,
            },
          }) as readonly ReadersRow[];
          return rows.map(({ language, time_zone: timeZone, is_inactive, ids: found }) => ({
            language: language ?? undefined,
            timeZone: timeZone ?? undefined,
            isInactive: is_inactive === 1,
            ids: JSON.parse(found) as number[],
          }));
        }),
      joinSets: (sets, sliceRows) => cutSet({ ids: joinIds(sets) }, sliceRows),
    },
  };
}

interface ReadersRow {
  readonly language: string | null;
  readonly time_zone: string | null;
  readonly is_inactive: number;
  /** JSON. */
  readonly ids: string;
}

const selectReaders = (skipInactive: number | undefined): string => `
  select coalesce(p.language, s.language) as language, coalesce(p.time_zone, s.time_zone) as time_zone,
         ${isInactive(skipInactive)} as is_inactive, json_group_array(s.id) as ids
  from json_each(:ids) i cross join deskbell.subscriptions s on s.id = i.value
  left join deskbell.people p on p.user_name = s.user_name
  where :channel is null or coalesce(p.channels ->> :channel, s.channels ->> :channel, :isOn)
  group by 1, 2, 3`;

function prepareAudienceStatements(database: SqliteDatabase) {
  return {
    find: database.prepare<{ audienceId: number }, { members: number }>(
      'select members from audiences where id = :audienceId',
    ),
    setMembers: database.prepare<{ audienceId: number; members: number }>(
      'update audiences set members = :members where id = :audienceId',
    ),
    add: database.prepare<{
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
        select (select coalesce(sum(subscriptions), 0) from subscription_counts) as rows,
               (select min(id) from subscriptions) as first,
               (select max(id) from subscriptions) as last
      `),
  };
}
