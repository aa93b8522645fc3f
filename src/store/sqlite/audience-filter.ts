// Finds the subscriptions that match an expression of users and tags. It searches ranges of ids with a limited number
// of candidates, so that a transaction is short however many rows there are. Each row is read once.
//
// An index finds the candidates: by the user, by the tag in `all` that is rarest in the range, or by the tags in
// `any`. If the expression has only `none`, all subscriptions are candidates.
import type { AudienceExpression } from '../../audience/user-and-tags.ts';
import type { SqliteDatabase } from './database.ts';

const maxId = Number.MAX_SAFE_INTEGER;

interface End {
  /** Where the next range begins. */
  readonly end: number | null;
}

/** Where the candidates of a range come from. */
interface Candidates extends End {
  readonly select: string;
  /** Values of the statement's parameters for this range. */
  readonly values: RangeValues;
}

/**
 * Returns a function that searches about `rows` candidates after an id. It returns the ids of this range that match, and
 * the last id of the range, which is absent if there are no more candidates.
 */
export function createRangeSearch(database: SqliteDatabase) {
  const findCandidates = (
    { user, tags = {} }: AudienceExpression,
    afterId: number,
    rows: number,
  ): Candidates => {
    const { all = [], any = [] } = tags;
    if (user !== undefined) {
      const { end } = database.first<End>(selectEndOfUser, { user, afterId, rows })!;
      return { select: selectOfUser, end, values: { user, ...tagValues(tags) } };
    }
    if (all.length > 0) {
      const given = { tags: JSON.stringify(all), afterId, rows };
      const { tag, end } = database.first<End & { tag: string }>(selectRarestTag, given)!;
      const others = all.filter((other) => other !== tag);
      const values = { drivers: JSON.stringify([tag]), ...tagValues({ ...tags, all: others }) };
      return { select: selectOfTags, end, values };
    }
    if (any.length > 0) {
      const drivers = JSON.stringify(any);
      const given = { tags: drivers, afterId, rows: Math.ceil(rows / any.length) };
      const { end } = database.first<End>(selectFirstEnd, given)!;
      return { select: selectOfTags, end, values: { drivers, ...tagValues({ ...tags, any: [] }) } };
    }
    const { end } = database.first<End>(selectEnd, { afterId, rows })!;
    return { select: selectOfAll, end, values: tagValues(tags) };
  };

  return (expression: AudienceExpression, afterId: number, rows: number) => {
    const { select, end, values } = findCandidates(expression, afterId, rows);
    const found = database.all<{ id: number }>(select, { ...values, afterId, throughId: end ?? maxId });
    return { throughId: end ?? undefined, ids: found.map(({ id }) => id) };
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

const matching = (candidates: string): string => `
  select c.id from (${candidates}) c
  where (:allCount = 0 or :allCount = (
      select count(*) from subscription_tags t
      where t.subscription_id = c.id and t.tag in (select value from json_each(:all))))
    and (:anyCount = 0 or ${hasOneOf('any')})
    and (:noneCount = 0 or not ${hasOneOf('none')})
  order by c.id`;

const selectOfUser = matching(
  'select id from subscriptions where user_name = :user and id > :afterId and id <= :throughId',
);
const selectOfTags = matching(`
    select distinct subscription_id as id from subscription_tags
    where tag in (select value from json_each(:drivers))
      and subscription_id > :afterId and subscription_id <= :throughId`);
const selectOfAll = matching('select id from subscriptions where id > :afterId and id <= :throughId');

// selects the id of the row that comes `:rows` rows after `:afterId`
const selectEnd = `
  select (select id from subscriptions where id > :afterId order by id limit 1 offset :rows - 1) as "end"`;
const selectEndOfUser = `
  select (select id from subscriptions where user_name = :user and id > :afterId
          order by id limit 1 offset :rows - 1) as "end"`;
const endOfTag = `(
  select subscription_id from subscription_tags
  where tag = w.value and subscription_id > :afterId
  order by subscription_id limit 1 offset :rows - 1)`;
const selectRarestTag = `
  select w.value as tag, ${endOfTag} as "end" from json_each(:tags) w
  order by "end" is null desc, "end" desc limit 1`;
const selectFirstEnd = `select min(${endOfTag}) as "end" from json_each(:tags) w`;
