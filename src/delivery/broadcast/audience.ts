// The audience of a broadcast. Subscriptions are written to the store as they stream in, so there may be any number.
// Ids are first gathered in memory, eight bytes each. An expression is evaluated later (`create-broadcast.ts`). The
// hash of a list or expression shows whether broadcasts with the same idempotency key have the same audience.
import { createHash, type Hash } from 'node:crypto';
import { checkOptions, isCheckedElsewhere, wrong } from '../../errors/check-options.ts';
import { DeskbellError, fieldError } from '../../errors/deskbell-error.ts';
import {
  type ListKind,
  type LookedUpAudience,
  type OutcomeAudience,
  outcomeGroups,
} from '../../store/broadcasts.ts';
import type { AttemptStore } from '../../store/attempts.ts';
import { type TagExpression, checkExpression } from '../../audience/user-and-tags.ts';
import type { EndpointPolicy } from '../../protocol/endpoint-policy.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import { defaultSliceRows } from '../../store/slices.ts';
import type { Store } from '../../store/store.ts';
import { readSubscription, type SubscriptionInput } from '../message-path/subscription-input.ts';

type Several<Member> = Iterable<Member> | AsyncIterable<Member>;

/**
 * The subscriptions that get a broadcast. The audience is all subscriptions in the store, or some of them, selected by
 * id, by user and tags, or by the outcome of an earlier broadcast. The audience can also be a list of subscriptions
 * that need not be stored. Users, tags and outcomes are evaluated only when the broadcast is created.
 */
export type Audience =
  | 'all'
  | { readonly ids: Several<number> }
  | { readonly subscriptions: Several<SubscriptionInput> }
  | MatchingAudience
  | OutcomeAudience;

/** An `AudienceExpression` that has a user or tags. */
export type MatchingAudience =
  | { readonly user: string; readonly tags?: TagExpression | undefined }
  | { readonly tags: TagExpression };

const audienceMembers = ['ids', 'subscriptions', 'user', 'tags', 'broadcast', 'outcome'];
const audienceChecks = Object.fromEntries(audienceMembers.map((name) => [name, isCheckedElsewhere]));

/** @throws {DeskbellError} ERR_FIELD_VALUE if a member is unknown, or members belong to two kinds of audience */
export function checkAudience(audience: Audience): void {
  if (audience === 'all') return;
  const code = 'ERR_FIELD_VALUE';
  checkOptions(audience, audienceChecks, { name: 'audience', code });
  const hasOutcome = 'broadcast' in audience || 'outcome' in audience;
  const kinds = ['ids' in audience, 'subscriptions' in audience, isExpression(audience), hasOutcome];
  if (kinds.filter(Boolean).length !== 1) {
    const allowed =
      'must be "all", or have either ids, or subscriptions, or user and tags, or broadcast and outcome';
    throw wrong('audience', allowed, { code });
  }
  if (!hasOutcome) return;
  const { broadcast, outcome } = audience as Partial<OutcomeAudience>;
  if (!Number.isSafeInteger(broadcast) || broadcast! < 1)
    throw fieldError(code, '/broadcast', 'The broadcast must be the id of one, a whole number from 1.');
  if (outcome === undefined || !outcomeGroups.includes(outcome))
    throw fieldError(code, '/outcome', `The outcome must be one of ${outcomeGroups.join(', ')}.`);
}

/** Number of ids per read. A read of this size takes a few milliseconds. */
const idsAtOnce = 5000;

/** Yields the ids of subscriptions with an outcome in a broadcast, in ascending order. Reads them in batches. */
export async function* readIds(
  audience: OutcomeAudience,
  attempts: Pick<AttemptStore, 'idsAfter'>,
): AsyncGenerator<number> {
  for (let afterId: number | undefined = 0; afterId !== undefined;) {
    const { ids, next } = await attempts.idsAfter(audience, { afterId, ids: idsAtOnce });
    yield* ids;
    afterId = next;
  }
}

export interface WrittenAudience {
  /** Absent if the audience is all subscriptions. */
  readonly audienceId?: number;
  /** The lookup that finds the members, if they are not listed yet. */
  readonly matching?: LookedUpAudience | undefined;
  readonly list?: ListKind;
  /** Set if the audience is a single person. */
  readonly user?: string | undefined;
  /** Equal lookups have the same hash. So do lists with the same members in the same order. */
  readonly hash: Buffer;
}

const batchSize = 1000;

/**
 * Writes an audience to the store.
 *
 * @param isSplit true if texts or times differ by reader, so that even the members of the audience `all` must be listed
 * @throws {DeskbellError} ERR_FIELD_VALUE if an id, user or tag is invalid, or if the store does not know the outcomes
 *   of the broadcast; ERR_FIELD_TYPE, ERR_SUBSCRIPTION_INVALID
 */
export async function writeAudience(
  audience: Audience,
  { broadcasts: store, attempts }: Pick<Store, 'broadcasts' | 'attempts'>,
  policy: EndpointPolicy,
  isSplit: boolean,
): Promise<WrittenAudience> {
  const hash = createHash('sha256');
  if (audience === 'all') {
    const all = { hash: hash.update('all').digest() };
    return isSplit ? { ...all, audienceId: await store.openAudience(), matching: {} } : all;
  }
  if (isLookedUp(audience)) {
    const matching = inOneForm(audience);
    // throws if the store does not know the outcomes of the broadcast
    if ('broadcast' in matching) await attempts.idsAfter(matching, { afterId: 0, ids: 1 });
    const user = 'user' in matching ? matching.user : undefined;
    return { audienceId: await store.openAudience(), matching, user, hash: hashLookedUp(audience) };
  }
  if ('ids' in audience) {
    const ids = await gatherIds(audience.ids, hash);
    const audienceId = await store.openAudience();
    await store.addIds(audienceId, ids, defaultSliceRows);
    return { audienceId, list: 'ids', hash: hash.digest() };
  }
  const audienceId = await store.openAudience();
  let batch: Subscription[] = [];
  for await (const input of audience.subscriptions) {
    const member = readSubscription(input, policy);
    updateHash(hash, member);
    batch.push(member);
    if (batch.length < batchSize) continue;
    await store.addToAudience(audienceId, batch);
    batch = [];
  }
  await store.addToAudience(audienceId, batch);
  return { audienceId, list: 'subscriptions', hash: hash.digest() };
}

/** @returns the ids in ascending order, without duplicates */
async function gatherIds(ids: Several<number>, hash: Hash): Promise<readonly number[]> {
  const given: number[] = [];
  for await (const id of ids) {
    updateHash(hash, checkId(id));
    given.push(id);
  }
  const sorted = Float64Array.from(given).sort();
  return Array.from(sorted).filter((id, index) => id !== sorted[index - 1]);
}

/** @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE */
export const hashLookedUp = (audience: MatchingAudience | OutcomeAudience): Buffer =>
  createHash('sha256')
    .update(`matching ${JSON.stringify(inOneForm(audience))}`)
    .digest();

const inOneForm = (audience: MatchingAudience | OutcomeAudience): LookedUpAudience =>
  'broadcast' in audience
    ? { broadcast: audience.broadcast, outcome: audience.outcome }
    : checkExpression(audience);

export const isLookedUp = (audience: Audience): audience is MatchingAudience | OutcomeAudience =>
  isExpression(audience) || isOfBroadcast(audience);

export const isOfBroadcast = (audience: Audience): audience is OutcomeAudience =>
  typeof audience === 'object' && 'broadcast' in audience;

export function isExpression(audience: Audience): audience is MatchingAudience {
  return typeof audience === 'object' && ('user' in audience || 'tags' in audience);
}

function checkId(id: number): number {
  if (Number.isSafeInteger(id) && id > 0) return id;
  throw new DeskbellError(
    'ERR_FIELD_VALUE',
    `${String(id)} is not the id of a subscription; ids are whole numbers from 1.`,
  );
}

/** Hashes each member in a form that shows where it ends, so that different lists have different hashes. */
function updateHash(hash: Hash, member: number | Subscription): void {
  if (typeof member === 'number') hash.update(`id ${member}\n`);
  else hash.update(`to ${member.endpoint}\n`).update(member.p256dh).update(member.auth);
}
