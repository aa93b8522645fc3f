// Which subscriptions meet an expression of users and tags, as a condition of SQL.
import type { AudienceExpression } from '../../audience/user-and-tags.ts';
import type { Value } from './database.ts';

/** @param first the number of the first parameter that is free; `s` is the table of subscriptions */
export function audienceCondition(
  { user, tags: { all = [], any = [], none = [] } = {} }: AudienceExpression,
  first: number,
): { readonly condition: string; readonly values: readonly Value[] } {
  const values: Value[] = [];
  const parameter = (value: Value): string => `$${first - 1 + values.push(value)}`;
  const parts = ['true'];
  if (user !== undefined) parts.push(`s.user_name = ${parameter(user)}`);
  if (all.length > 0) parts.push(`s.tags @> ${parameter(all)}::text[]`);
  if (any.length > 0) parts.push(`s.tags && ${parameter(any)}::text[]`);
  if (none.length > 0) parts.push(`coalesce(not s.tags && ${parameter(none)}::text[], true)`);
  return { condition: parts.join(' and '), values };
}
