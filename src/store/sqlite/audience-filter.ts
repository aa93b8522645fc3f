// Finds the subscriptions that match an expression of users and tags. It searches ranges of ids with a limited number
// of candidates, so that a transaction is short however many rows there are. Each row is read once.
//
// Candidates come from an index: of the user; of the tag in `all` that is rarest in the range; or of the tags in
// `any`. If there is only `none`, all subscriptions are candidates.
import type { AudienceExpression } from '../../audience/user-and-tags.ts';
import type { SqliteDatabase, Statement } from './database.ts';

/** A range of ids after `afterId`. */
export interface MatchingRange {
  /** The last id of the range; absent if there are no more candidates. */
  readonly throughId: number | undefined;
  /** The ids of the range that match the expression. */
  readonly ids: readonly number[];
}

export interface AudienceFilter {
  /** @param rows approximate number of candidates in the range */
  rangeAfter(expression: AudienceExpression, afterId: number, rows: number): MatchingRange;
  /** Returns the ids that match the expression. */
  among(ids: readonly number[], expression: AudienceExpression): readonly number[];
}

const maxId = Number.MAX_SAFE_INTEGER;

/** The source of a range's candidates. */
interface Candidates {
  readonly ids: Statement<RangeValues, { id: number }>;
  /** Where the next range begins. */
  readonly end: number | null;
  /** Values of the statement's parameters for this range. */
  readonly values: RangeValues;
}

/** Selects ids with `:afterId < id <= :throughId`. */
const sources = {
  user: 'select id from subscriptions where user_name = :user and id > :afterId and id <= :throughId',
  tags: `
    select distinct subscription_id as id from subscription_tags
    where tag in (select value from json_each(:drivers))
      and subscription_id > :afterId and subscription_id <= :throughId`,
  everything: 'select id from subscriptions where id > :afterId and id <= :throughId',
  listed: `
    select id from subscriptions
    where id in (select value from json_each(:ids)) and (:user is null or user_name = :user)`,
} as const;

export function createAudienceFilter(database: SqliteDatabase): AudienceFilter {
  const { ofSource, ...statements } = prepareStatements(database);

  const findCandidates = (
    { user, tags = {} }: AudienceExpression,
    afterId: number,
    rows: number,
  ): Candidates => {
    const { all = [], any = [] } = tags;
    if (user !== undefined) {
      const end = statements.endOfUser.first({ user, afterId, rows })?.id ?? null;
      return { ids: ofSource.user, end, values: { user, ...tagValues(tags) } };
    }
    if (all.length > 0) {
      const { tag, end } = statements.rarestTag.first({ tags: JSON.stringify(all), afterId, rows })!;
      const others = all.filter((other) => other !== tag);
      const values = { drivers: JSON.stringify([tag]), ...tagValues({ ...tags, all: others }) };
      return { ids: ofSource.tags, end, values };
    }
    if (any.length > 0) {
      const drivers = JSON.stringify(any);
      const rowsOfTag = Math.ceil(rows / any.length);
      const { end } = statements.firstEnd.first({ tags: drivers, afterId, rows: rowsOfTag })!;
      return { ids: ofSource.tags, end, values: { drivers, ...tagValues({ ...tags, any: [] }) } };
    }
    const end = statements.endOfEverything.first({ afterId, rows })?.id ?? null;
    return { ids: ofSource.everything, end, values: tagValues(tags) };
  };

  return {
    rangeAfter: (expression, afterId, rows) => {
      const { ids, end, values } = findCandidates(expression, afterId, rows);
      const range = { ...values, afterId, throughId: end ?? maxId };
      return { throughId: end ?? undefined, ids: ids.all(range).map(({ id }) => id) };
    },

    among: (ids, { user = null, tags = {} }) =>
      ofSource.listed.all({ ids: JSON.stringify(ids), user, ...tagValues(tags) }).map(({ id }) => id),
  };
}

type RangeValues = Readonly<Record<string, string | number | null>>;

const tagValues = ({ all = [], any = [], none = [] }: NonNullable<AudienceExpression['tags']>) => ({
  all: JSON.stringify(all),
  allCount: all.length,
  any: JSON.stringify(any),
  anyCount: any.length,
  none: JSON.stringify(none),
  noneCount: none.length,
});

// A list of tags is one parameter, so the statements are the same for all expressions.
const hasOneOf = (list: string): string => `exists (
  select 1 from subscription_tags t
  where t.subscription_id = c.id and t.tag in (select value from json_each(:${list})))`;

const matching = (source: string): string => `
  from (${source}) c
  where (:allCount = 0 or :allCount = (
      select count(*) from subscription_tags t
      where t.subscription_id = c.id and t.tag in (select value from json_each(:all))))
    and (:anyCount = 0 or ${hasOneOf('any')})
    and (:noneCount = 0 or not ${hasOneOf('none')})`;

function prepareStatements(database: SqliteDatabase) {
  const ofSource = (source: string) =>
    database.prepare<RangeValues, { id: number }>(`select c.id ${matching(source)} order by c.id`);
  // the id of the row that is `:rows` rows after `:afterId`
  const endOfTag = `(
    select subscription_id from subscription_tags
    where tag = w.value and subscription_id > :afterId
    order by subscription_id limit 1 offset :rows - 1)`;

  return {
    ofSource: {
      user: ofSource(sources.user),
      tags: ofSource(sources.tags),
      everything: ofSource(sources.everything),
      listed: ofSource(sources.listed),
    },
    endOfUser: database.prepare<{ user: string; afterId: number; rows: number }, { id: number }>(`
      select id from subscriptions where user_name = :user and id > :afterId
      order by id limit 1 offset :rows - 1
    `),
    endOfEverything: database.prepare<{ afterId: number; rows: number }, { id: number }>(
      'select id from subscriptions where id > :afterId order by id limit 1 offset :rows - 1',
    ),
    rarestTag: database.prepare<
      { tags: string; afterId: number; rows: number },
      { tag: string; end: number | null }
    >(`
      select w.value as tag, ${endOfTag} as "end" from json_each(:tags) w
      order by "end" is null desc, "end" desc limit 1
    `),
    firstEnd: database.prepare<{ tags: string; afterId: number; rows: number }, { end: number | null }>(
      `select min(${endOfTag}) as "end" from json_each(:tags) w`,
    ),
  };
}
