// Which subscriptions meet an expression of users and tags. They are looked at in ranges of ids that hold a bounded number of
// candidates, so that a transaction is short however many rows there are, and each row is looked at once.
//
// Candidates come from an index: of the user; of the tag among `all` that is rarest in the range; of the tags of `any`. Where
// there is only `none`, all subscriptions are candidates.
import type { AudienceExpression } from '../../audience/user-and-tags.ts';
import type { SqliteDatabase } from './database.ts';

/** A range of ids behind `afterId`. */
export interface MatchingRange {
  /** Where the next range begins; absent where there are no more candidates. */
  readonly throughId: number | undefined;
  /** Those of the range that meet the expression. */
  ids(): readonly number[];
}

export interface AudienceFilter {
  /** @param rows about how many candidates the range has. It is to be used in the same transaction, or turn */
  rangeAfter(expression: AudienceExpression, afterId: number, rows: number): MatchingRange;
  /** Of these ids those that meet the expression. */
  among(ids: readonly number[], expression: AudienceExpression): readonly number[];
}

const maxId = Number.MAX_SAFE_INTEGER;

/** The candidates of a range, and the tags that are still to be looked at. */
interface Candidates {
  readonly source: keyof typeof sources;
  readonly throughId: number | null;
  readonly user: string | null;
  /** Where candidates come from. */
  readonly drivers: readonly string[];
  readonly all: readonly string[];
  readonly any: readonly string[];
}

/** Ids with `:afterId < id <= :throughId`. */
const sources = {
  user: 'select id from subscriptions where user = :user and id > :afterId and id <= :throughId',
  tags: `
    select distinct subscription_id as id from subscription_tags
    where tag in (select value from json_each(:drivers))
      and subscription_id > :afterId and subscription_id <= :throughId`,
  everything: 'select id from subscriptions where id > :afterId and id <= :throughId',
  listed: `
    select id from subscriptions
    where id in (select value from json_each(:ids)) and (:user is null or user = :user)`,
} as const;

export function createAudienceFilter(database: SqliteDatabase): AudienceFilter {
  const statements = prepareStatements(database);

  const findCandidates = (
    { user, tags: { all = [], any = [] } = {} }: AudienceExpression,
    afterId: number,
    rows: number,
  ): Candidates => {
    const none = { user: null, drivers: [], all, any };
    if (user !== undefined) {
      const throughId = statements.endOfUser.first({ user, afterId, rows })?.id ?? null;
      return { ...none, source: 'user', throughId, user };
    }
    if (all.length > 0) {
      const { tag = '', end = null } =
        statements.rarestTag.first({ tags: JSON.stringify(all), afterId, rows }) ?? {};
      const others = all.filter((other) => other !== tag);
      return { ...none, source: 'tags', throughId: end, drivers: [tag], all: others };
    }
    if (any.length > 0) {
      const tags = JSON.stringify(any);
      const { end = null } =
        statements.firstEnd.first({ tags, afterId, rows: Math.ceil(rows / any.length) }) ?? {};
      return { ...none, source: 'tags', throughId: end, drivers: any, any: [] };
    }
    const throughId = statements.endOfEverything.first({ afterId, rows })?.id ?? null;
    return { ...none, source: 'everything', throughId };
  };

  return {
    rangeAfter: (expression, afterId, rows) => {
      const { source, throughId, user, drivers, all, any } = findCandidates(expression, afterId, rows);
      const ids = statements.ofSource[source];
      const values = {
        afterId,
        throughId: throughId ?? maxId,
        ...(source === 'user' && { user }),
        ...(source === 'tags' && { drivers: JSON.stringify(drivers) }),
        ...tagValues({ all, any, none: expression.tags?.none }),
      };
      return {
        throughId: throughId ?? undefined,
        ids: () => ids.all(values).map(({ id }) => id),
      };
    },

    among: (ids, { user = null, tags = {} }) =>
      statements.ofSource.listed
        .all({ ids: JSON.stringify(ids), user, ...tagValues(tags) })
        .map(({ id }) => id),
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

// A list of tags is one parameter: the statements are the same for all expressions.
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
  // the id of the row that is `:rows` further on
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
      select id from subscriptions where user = :user and id > :afterId
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
