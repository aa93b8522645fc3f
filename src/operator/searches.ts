// Pages of lists, and searches for broadcasts, subscriptions and devices. Each call reads a limited number of rows.
import { setImmediate } from 'node:timers/promises';
import { type AudienceExpression, checkUser } from '../audience/user-and-tags.ts';
import { stateOf } from '../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { readPayloadTexts } from '../protocol/message/read-message.ts';
import { knownDomains, pushServiceName } from '../protocol/known-push-services.ts';
import type {
  Broadcast,
  BroadcastState,
  BroadcastStore,
  BroadcastSummary,
  OfOperator,
} from '../store/broadcasts.ts';
import type { EndedSubscription } from '../store/held-deletions.ts';
import type { Store } from '../store/store.ts';
import type {
  SearchedSubscriptions,
  StoredSubscription,
  SubscriptionSearch,
  SubscriptionStore,
} from '../store/subscriptions.ts';

export interface ListPage<Item> {
  readonly items: readonly Item[];
  /** The cursor of the next page; absent after the last one. */
  readonly next?: number | undefined;
}

/**
 * Reads one page, and finds out whether another page follows.
 *
 * @param read returns at most the given number of items, in the list's order
 */
export async function readPage<Item extends { readonly id: number }>(
  limit: number,
  read: (limit: number) => Promise<readonly Item[]>,
): Promise<ListPage<Item>> {
  const found = await read(limit + 1);
  const items = found.slice(0, limit);
  return { items, next: found.length > limit ? items.at(-1)?.id : undefined };
}

export interface BroadcastFilter extends OfOperator {
  /** Text to find anywhere in title or message, ignoring case. */
  readonly text?: string | undefined;
  /** `scheduled` finds running broadcasts that start in the future; `running` does not find these. */
  readonly state?: BroadcastState | 'scheduled' | undefined;
  /** The start in milliseconds since 1970: `sinceMs ≤ start < untilMs`. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** Only broadcasts of this bell. */
  readonly bell?: string | undefined;
}

export interface FoundBroadcasts extends ListPage<Broadcast> {
  /** Maps the id of a shown broadcast to the number of older broadcasts of the same bell that the page leaves out. */
  readonly folded: ReadonlyMap<number, number>;
}

/** The maximum number of broadcasts that one call searches. Searching this many takes a few milliseconds. */
export const searchBatchSize = 5000;
const readBatchSize = 500;

/**
 * @param range `foldsBells`: return only the newest broadcast that each bell created
 * @returns `next`: the next `beforeId`
 */
export async function searchBroadcasts(
  store: Pick<BroadcastStore, 'findAll' | 'summaries'>,
  filter: BroadcastFilter,
  range: { readonly beforeId?: number | undefined; readonly limit: number; readonly foldsBells?: boolean },
): Promise<FoundBroadcasts> {
  const fits = compile(filter);
  const ids: number[] = [];
  const newest = new Map<string, number>();
  const folded = new Map<number, number>();
  const found = async (next?: number): Promise<FoundBroadcasts> => ({
    items: await store.findAll(ids),
    folded,
    next,
  });
  let { beforeId } = range;
  for (let searched = 0; searched < searchBatchSize; searched += readBatchSize) {
    const summaries = await store.summaries({
      beforeId,
      limit: readBatchSize,
      operatorId: filter.operatorId,
    });
    for (const head of summaries) {
      const bell = range.foldsBells ? bellOf(head) : undefined;
      const shown = newest.get(bell ?? '');
      if (shown === undefined && ids.length === range.limit) return found(beforeId);
      beforeId = head.id;
      if (!fits(head)) continue;
      if (shown !== undefined) folded.set(shown, (folded.get(shown) ?? 0) + 1);
      else ids.push(head.id);
      if (bell !== undefined && shown === undefined) newest.set(bell, head.id);
    }
    if (summaries.length < readBatchSize) return found();
  }
  return found(beforeId);
}

export const bellOf = ({ createdBy }: Pick<BroadcastSummary, 'createdBy'>): string | undefined =>
  createdBy !== undefined && 'bell' in createdBy ? createdBy.bell : undefined;

function compile({
  text = '',
  state,
  bell,
  sinceMs = -Infinity,
  untilMs = Infinity,
}: BroadcastFilter): (head: BroadcastSummary) => boolean {
  const words = text.trim().toLocaleLowerCase();
  return (head) => {
    if (bell !== undefined && bellOf(head) !== bell) return false;
    if (state !== undefined && stateOf(head) !== state) return false;
    if (head.startAtMs < sinceMs || head.startAtMs >= untilMs) return false;
    if (words === '') return true;
    const { title, message } = readPayloadTexts(head.payload);
    return `${title}\n${message}`.toLocaleLowerCase().includes(words);
  };
}

export interface SubscriptionFilter {
  /** An expression that `checkExpression` has returned. */
  readonly matching?: AudienceExpression | undefined;
  /**
   * The push service's origin, in any spelling, or an origin whose host is the domain that all hosts of the push
   * service share.
   */
  readonly pushService?: string | undefined;
}

type Found = ListPage<StoredSubscription>;
type Range = { readonly afterId: number; readonly limit: number };
type Pages = Pick<SubscriptionStore, 'page' | 'pageOfPushService' | 'search'>;
type PagesByHost = Pick<Store, 'subscriptions' | 'endpoints'>;

/** The maximum number of rows that one call searches. Searching this many takes a few milliseconds. */
const searchedRowsAtOnce = 10_000;
/** The first batch is small, because it usually has enough matches. */
const firstBatchSize = 100;
const rowsPerRead = 1000;

/** @param range `limit`: maximum number of results @returns `next`: the next `afterId` */
export async function findSubscriptions(
  { subscriptions: store, endpoints }: PagesByHost,
  { matching, pushService: given }: SubscriptionFilter,
  { afterId = 0, limit }: { readonly afterId?: number | undefined; readonly limit: number },
): Promise<Found> {
  if (given === undefined) return readPage(limit, (count) => store.page({ afterId, limit: count, matching }));
  const pushService = URL.parse(given)?.origin ?? 'null';
  // 'null' means that the text is not a URL, or that the URL has no origin
  if (pushService === 'null') return { items: [] };
  const { host } = new URL(pushService);
  const origins = knownDomains.has(host)
    ? (await endpoints.hosts())
        .map((each) => `https://${each}`)
        .filter((each) => pushServiceName(each) === host)
    : [pushService];
  const pages = await Promise.all(
    origins.map((origin) =>
      matching === undefined
        ? readPage(limit, (count) => store.pageOfPushService(origin, { afterId, limit: count }))
        : searchBoth(store, { matching, pushService: origin }, { afterId, limit }),
    ),
  );
  return joinPages(pages, limit);
}

/** Merges pages in the order of ids. Stops at the last id that every page covers. */
function joinPages(pages: readonly Found[], limit: number): Found {
  const throughId = Math.min(...pages.map(({ next = Infinity }) => next));
  const found = pages
    .flatMap(({ items }) => items)
    .filter(({ id }) => id <= throughId)
    .toSorted((one, other) => one.id - other.id);
  const items = found.slice(0, limit);
  if (found.length > limit) return { items, next: items.at(-1)!.id };
  return { items, ...(throughId < Infinity && { next: throughId }) };
}

/** Searches by the rarer condition. A condition is rarer if its first batch of matches reaches a higher id. */
async function searchBoth(
  store: Pages,
  filter: Required<SubscriptionFilter>,
  { limit, ...range }: Range,
): Promise<Found> {
  let { afterId } = range;
  const search = (by: SubscriptionSearch['by'], rows: number) =>
    store.search({ ...(filter as Pick<SubscriptionSearch, keyof SubscriptionFilter>), by, afterId, rows });
  const first = await Promise.all([
    search('matching', firstBatchSize),
    search('pushService', firstBatchSize),
  ]);
  const [ofMatching, ofPushService] = first.map((searched) => reachOf(searched, firstBatchSize));
  const by = ofMatching! >= ofPushService! ? 'matching' : 'pushService';
  const items: StoredSubscription[] = [];
  let searched = first[by === 'matching' ? 0 : 1];
  let searchedRows = 0;
  for (let batchSize = firstBatchSize; ; batchSize = rowsPerRead) {
    if (searchedRows > 0) searched = await search(by, batchSize);
    for (const row of searched.found) {
      if (items.length === limit) return { items, next: afterId };
      afterId = row.id;
      items.push(row);
    }
    afterId = searched.throughId;
    if (searched.rows < batchSize) return { items };
    searchedRows += searched.rows;
    if (searchedRows >= searchedRowsAtOnce) return { items, next: afterId };
    // Reading blocks the thread, so let other work run in between.
    await setImmediate();
  }
}

/** The last id that a batch covers, or Infinity if no more rows follow. */
const reachOf = ({ rows, throughId }: SearchedSubscriptions, batchSize: number): number =>
  rows < batchSize ? Number.POSITIVE_INFINITY : throughId;

/** The maximum number of stored devices to show, and of ended devices. */
export const maxShownDevices = 20;

export interface PersonDevices {
  /** Devices with a stored subscription, oldest first. */
  readonly stored: readonly StoredSubscription[];
  /** Devices whose subscription has ended, latest first. */
  readonly ended: readonly EndedSubscription[];
  /** True if the person has more devices than `maxShownDevices`. */
  readonly hasMore: boolean;
}

/** @throws {DeskbellError} ERR_FIELD_VALUE if it is not a valid user */
export async function findPersonDevices(
  user: string,
  { subscriptions, ended }: Pick<Store, 'subscriptions' | 'ended'>,
): Promise<PersonDevices> {
  const matching = { user: checkUser(user, '/user') };
  const limit = maxShownDevices + 1;
  const [rows, gone] = await Promise.all([
    subscriptions.page({ afterId: 0, limit, matching }),
    ended.ofUser(user, limit),
  ]);
  return {
    stored: rows.slice(0, maxShownDevices),
    ended: gone.slice(0, maxShownDevices),
    hasMore: rows.length > maxShownDevices || gone.length > maxShownDevices,
  };
}

export const idsOf = ({ stored, ended }: PersonDevices): readonly number[] =>
  [...stored, ...ended].map(({ id }) => id).toSorted((one, other) => one - other);

/** The maximum number of devices for a message to a person. For more devices, use a broadcast. */
const maxAddressed = 100;

/** @returns all devices. @throws {DeskbellError} ERR_SUBSCRIPTION_NOT_FOUND; ERR_FIELD_VALUE for an invalid user or too many devices */
export async function readAddressedDevices(
  user: string,
  subscriptions: SubscriptionStore,
): Promise<readonly StoredSubscription[]> {
  const matching = { user: checkUser(user, '/to/user') };
  const rows = await subscriptions.page({ afterId: 0, limit: maxAddressed + 1, matching });
  if (rows.length === 0)
    throw new DeskbellError('ERR_SUBSCRIPTION_NOT_FOUND', 'The user has no subscription.');
  if (rows.length <= maxAddressed) return rows;
  throw new DeskbellError(
    'ERR_FIELD_VALUE',
    `The user has more than ${maxAddressed} subscriptions; make a broadcast to this user.`,
  );
}
