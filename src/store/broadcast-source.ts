// Where a broadcast comes from: whom it was asked to be sent to, and who made it. Both databases store it as JSON.
import type { AudienceExpression } from '../audience/user-and-tags.ts';

/** What a list of recipients was made of. Its members are not part of what is shown. */
export type ListKind = 'ids' | 'subscriptions';

/** Whom a broadcast was asked to be sent to: every subscription, those of an expression, or a list. */
export type AskedAudience = 'all' | AudienceExpression | { readonly list: ListKind };

/**
 * Who made a broadcast: an operator by name, with the API or the console; the command line on a machine; a schedule by its id;
 * or an application, by the name that it gives itself, else by its machine.
 */
export type BroadcastCreator =
  | { readonly operator: string }
  | { readonly commandLine: string }
  | { readonly schedule: number }
  | { readonly application: string };

/** What a new broadcast says of it. */
export interface NewBroadcastSource {
  /** A list created by `openAudience`; without it, every subscription there is at creation. */
  readonly audienceId?: number | undefined;
  /** Whom the list, which is empty, is to be filled with: the broadcast is `preparing` until `prepare` has done so. As
   *  `checkExpression` gives it; an expression without parts is met by all. */
  readonly matching?: AudienceExpression | undefined;
  /** What the list was made of, where it is not `matching`. */
  readonly list?: ListKind | undefined;
  readonly createdBy?: BroadcastCreator | undefined;
}

/** The columns; null if it is not known. */
interface SourceColumns {
  readonly asked_audience: string | null;
  readonly created_by: string | null;
}

export function toSourceColumns(draft: NewBroadcastSource): SourceColumns {
  const audience = askedAudience(draft);
  return {
    asked_audience: audience === undefined ? null : JSON.stringify(audience),
    created_by: draft.createdBy === undefined ? null : JSON.stringify(draft.createdBy),
  };
}

function askedAudience({ matching, audienceId, list }: NewBroadcastSource): AskedAudience | undefined {
  if (matching !== undefined) return Object.keys(matching).length === 0 ? 'all' : matching;
  if (audienceId === undefined) return 'all';
  return list === undefined ? undefined : { list };
}

export const readSourceColumns = ({ asked_audience, created_by }: SourceColumns) => ({
  audience: asked_audience === null ? undefined : (JSON.parse(asked_audience) as AskedAudience),
  createdBy: created_by === null ? undefined : (JSON.parse(created_by) as BroadcastCreator),
});
