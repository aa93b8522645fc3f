// Which subscriptions meet an expression of users and tags, as a condition of SQL.
import type { AudienceExpression } from '../../audience/user-and-tags.ts';
import type { Value } from './database.ts';

/** @param first the number of the first parameter that is free; `s` is the table of subscriptions */
export function audienceCondition(
  { user, tags: { all = [], any = [], none = [] } = {} }: AudienceExpression,
  first: number,
): { readonly condition: string; readonly values: readonly Value[] } {
  const parts: readonly (readonly [condition: (parameter: string) => string, value: Value])[] = [
    ...(user === undefined ? [] : [[(parameter: string) => `s.user_name = ${parameter}`, user] as const]),
    ...(all.length === 0 ? [] : [[(parameter: string) => `s.tags @> ${parameter}::text[]`, all] as const]),
    ...(any.length === 0 ? [] : [[(parameter: string) => `s.tags && ${parameter}::text[]`, any] as const]),
    ...(none.length === 0
      ? []
      : [[(parameter: string) => `coalesce(not s.tags && ${parameter}::text[], true)`, none] as const]),
  ];
  return {
    condition: ['true', ...parts.map(([condition], index) => condition(`$${first + index}`))].join(' and '),
    values: parts.map(([, value]) => value),
  };
}
