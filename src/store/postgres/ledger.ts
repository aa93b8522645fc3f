// The ledger in PostgreSQL: reads rows of slices and commits their results, each with one call of a database function.
import { randomUUID } from 'node:crypto';
import { pushServiceName } from '../../protocol/known-push-services.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import { createAttemptGatherer, type GatheredAttempts } from '../attempt-sets.ts';
import type { Alarm, Recipient } from '../broadcasts.ts';
import { judgeAnswers, judgeMarks } from '../deletion-guard.ts';
import { finishIfOver, judgeBroadcast, judgePages, mayEnd } from '../finish-broadcast.ts';
import type { PortableDatabase } from '../portable-sql.ts';
import {
  countPage,
  countSingleAnswers,
  type CommitAnswer,
  type Ledger,
  type PageCommit,
  type PageCounts,
  type RowResult,
  type SingleAnswers,
} from '../ledger.ts';
import { parsePerPerson } from '../../audience/frequency-cap.ts';
import { outcomeColumns } from '../statistics.ts';
import { idsAfter } from '../slices.ts';
import type { AgingTable } from '../retention.ts';
import type { PushServiceState } from '../push-services.ts';
import type { PostgresDatabase, Value } from './database.ts';
import { hashEndpoint } from '../../protocol/endpoint.ts';
import { createPageReader, type PageRow } from './read-page.ts';

/** The result of `commit_page`. */
interface StoredAnswer extends CommitAnswer {
  /**
   * Set if nothing was stored because some retries are no longer leased under the token. Contains the positions of the
   * retries that are still leased.
   */
  readonly leased?: readonly number[] | null;
  /** Push services for which `judgeMarks` must be called now. */
  readonly judged: readonly string[];
  /** True if this commit finished a slice or a retry, so the broadcast may be over. */
  readonly mayBeOver: boolean;
}

/** The result of `record_single_answers`. */
type SingleAnswer = Pick<StoredAnswer, 'pushServices' | 'judged'>;

/** Ids of commits, by which a repeated commit is recognized. Kept for longer than a call can be repeated. */
export const commitIds: AgingTable = { name: 'commits', key: 'id', keptMs: 10 * 60 * 1000 };

export function createPostgresLedger(database: PostgresDatabase, portable: PortableDatabase): Ledger {
  const recipients = createPageReader(database);
  const gather = createAttemptGatherer();

  /** @returns the rows; those whose person has already been contacted as often as `perPerson` allows are capped */
  const reserve = async (
    broadcastId: number,
    perPerson: string,
    rows: readonly Recipient[],
  ): Promise<readonly Recipient[]> => {
    const { maxContacts, windowMs } = parsePerPerson(perPerson);
    const [answer] = await database.call<{ readonly result: readonly number[] }>('reserve_reaches', [
      database.now(),
      broadcastId,
      rows.map(({ endpoint }) => hashEndpoint(endpoint)),
      maxContacts,
      windowMs,
    ]);
    const capped = new Set(answer?.result);
    return rows.map((row, index) => (capped.has(index + 1) ? { ...row, isCapped: true } : row));
  };

  const commit: Ledger['commit'] = async (page) => {
    const [row] = await database.call<{ readonly result: StoredAnswer }>('commit_page', {
      p_now_ms: database.now(),
      ...toArguments(page, gather(page.broadcastId, page.rows)),
    });
    const answer = row!.result;
    const { isLeaseLost, state, pushServices, leased } = answer;
    if (leased && leased.length > 0 && leased.length < page.rows.length) {
      const rows = page.rows.filter(({ recipient }) => leased.includes(recipient.position));
      return commit({ ...page, rows });
    }
    const newAlarms = [...answer.newAlarms, ...(await endPage(page.broadcastId, answer))];
    return { isLeaseLost, state, newAlarms, pushServices };
  };

  /**
   * Does the work that is needed after only a few pages, in a separate transaction. If the process dies first, later
   * pages and leases do this work.
   */
  const endPage = async (
    broadcastId: number,
    { state, isLeaseLost, judged, mayBeOver }: StoredAnswer,
  ): Promise<readonly Alarm[]> => {
    const alarms: Alarm[] = [];
    if (state === 'cancelled' && !isLeaseLost)
      return portable.background(() => judgeBroadcast(portable, broadcastId));
    if (judged.length > 0)
      alarms.push(...(await portable.background(() => judgePages(portable, broadcastId, judged))));
    if (!mayBeOver) return alarms;
    // if two workers settle the last rows at the same time, each sees the other's commit here
    const [over] = await portable.read(
      `select 1 as is_over from deskbell.broadcasts b where b.id = :broadcastId and ${mayEnd}`,
      { broadcastId },
    );
    if (over !== undefined)
      alarms.push(...((await portable.background(() => finishIfOver(portable, broadcastId))) ?? []));
    return alarms;
  };

  return {
    readRows: async ({ broadcastId, broadcast, slice, throughPosition, members }, afterPosition, limit) => {
      const [page] = await (members === undefined
        ? database.call<PageRow>('read_rows', [broadcastId, slice, afterPosition, throughPosition, limit])
        : database.call<PageRow>('read_members', [
            members.partition ?? null,
            toArrayText(idsAfter(members, afterPosition)),
            limit,
          ]));
      const rows = await recipients.ofPage(page);
      return broadcast.perPerson === undefined ? rows : reserve(broadcastId, broadcast.perPerson, rows);
    },

    commit,

    recordAnswers: async ({ id, origins, answers = [] }) => {
      const values = [database.now(), id, toJson(origins.map(toAnswered)), toJson(answers)];
      const [row] = await database.call<{ readonly result: SingleAnswer }>('record_single_answers', values);
      const { pushServices, judged } = row!.result;
      for (const origin of judged) await portable.background(() => judgeMarks(portable, origin, 'single'));
      return pushServices;
    },

    pushServices: async () => {
      const row = await database.first<{ readonly states: readonly PushServiceState[] }>(
        `select ${database.functions}.push_service_states(${database.functions}.clock($1)) as states`,
        [database.now()],
      );
      return row?.states ?? [];
    },
  };
}

/**
 * Makes JSON without NUL or lone surrogates, which `jsonb` refuses. If a push service's response contained such a
 * character, storing the page of messages would fail every time.
 */
const toJson = (value: object, members?: string[]): string =>
  JSON.stringify(value, members).replaceAll(/\\(?:u(0000|d[89a-f]..)|.)/g, (escape, refused) =>
    refused === undefined ? escape : '\ufffd',
  );

/** What `record_single_answers` gets for one push service. */
function toAnswered(told: SingleAnswers): object {
  const { origin, accepted, gone, other, goneSubscriptions, acceptedEndpoints } = told;
  const outcomes = countSingleAnswers(told);
  return {
    origin,
    name: pushServiceName(origin),
    counts: outcomeColumns.map((column) => outcomes[column]),
    answers: accepted + gone + other,
    accepted,
    acceptedHashes: acceptedEndpoints.map(hashEndpoint),
    gone: goneSubscriptions.map((subscription) => ({ origin, ...toKeys(subscription) })),
  };
}

const toKeys = ({ endpoint, p256dh, auth }: Subscription): object => ({
  hash: hashEndpoint(endpoint),
  p256dh: Buffer.from(p256dh).toString('hex'),
  auth: Buffer.from(auth).toString('hex'),
});

/** All properties of an `AttemptSet` except `ids`. */
const setMembers = ['answerId', 'outcome', 'attempt', 'sinceMs', 'firstId', 'lastId', 'rows'];

/** The arguments of `commit_page`, except the time. */
function toArguments(
  { broadcastId, fenceToken, leaseMs, slice, rows, answers = [] }: PageCommit,
  gathered: GatheredAttempts,
): Readonly<Record<string, Value>> {
  const { tallies, alarms } = countPage(rows);
  const byService = Map.groupBy(tallies, ({ origin }) => pushServiceName(origin));
  const services = [...byService].map(([name, some]) => ({
    name,
    counts: outcomeColumns.map((column) => some.reduce((sum, tally) => sum + tally[column], 0)),
  }));
  const accepted = tallies.flatMap(({ acceptedBy }) => acceptedBy);
  return {
    p_broadcast: broadcastId,
    p_token: fenceToken,
    lease_ms: leaseMs,
    p_commit: randomUUID(),
    slice: slice?.number ?? null,
    p_from: slice?.fromCursor ?? null,
    p_cursor: slice?.cursor ?? null,
    p_missing: slice?.missing ?? null,
    origins: toJson(tallies.map(toCounted)),
    services: toJson(services),
    positions: toArrayText(rows.map(({ recipient }) => recipient.position)),
    retries: toJson(rows.flatMap(toRetry)),
    answers_of: toJson(Object.fromEntries(judgeAnswers(rows))),
    accepted_ids: toArrayText(accepted.flatMap(({ subscriptionId }) => subscriptionId ?? [])),
    accepted_hashes: accepted.flatMap(({ subscriptionId, endpoint }) =>
      subscriptionId === undefined ? [hashEndpoint(endpoint)] : [],
    ),
    alarms: toJson(alarms),
    answers: toJson(answers),
    sets: toJson(gathered.sets, setMembers),
    set_ids: gathered.sets.map(({ ids }) => Buffer.from(ids)),
    set_answers: toJson(gathered.answers),
  };
}

/** Formats an array of numbers, because "pg" would check for each one whether it needs quotation marks. */
const toArrayText = (numbers: readonly number[]): string => `{${numbers.join(',')}}`;

function toRetry({ recipient, origin, result, retry, suspension }: RowResult): readonly object[] {
  if (retry === undefined) return [];
  const { position, subscriptionId, endpoint } = recipient;
  const { reader, ...tries } = retry;
  return [
    {
      position,
      // the hash identifies the row later; rows of a list are identified by their positions instead
      hash: hashEndpoint(endpoint),
      ...tries,
      ...reader,
      isDetached: result === 'detached',
      isRefused: result === 'refused',
      origin,
      heldKey: suspension?.vapidPublicKey,
      drawOrder: suspension?.drawOrder,
      subscriptionId,
    },
  ];
}

/** What `commit_page` gets for one push service. */
function toCounted({ origin, answers, woken, goneRows, ...counts }: PageCounts['tallies'][number]): object {
  const added = { ...counts, dormant: counts.dormant - woken };
  return {
    origin,
    counts: outcomeColumns.map((column) => added[column]),
    answers,
    accepted: counts.accepted,
    gone: goneRows.map((recipient) => toGone(origin, recipient)),
  };
}

function toGone(origin: string, recipient: Recipient): object {
  const { subscriptionId: id, endpoint, updatedAtMs } = recipient;
  if (id === undefined) return { origin, ...toKeys(recipient) };
  return { origin, hash: hashEndpoint(endpoint), id, updatedAtMs };
}
