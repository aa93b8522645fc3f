// The ledger in PostgreSQL: reads the rows of slices, and commits what came of them, each by one call of a function.
import { randomUUID } from 'node:crypto';
import { pushServiceName } from '../../protocol/known-push-services.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import { createAttemptGatherer, type GatheredAttempts } from '../attempt-sets.ts';
import type { Recipient } from '../broadcasts.ts';
import {
  countSingleAnswers,
  isAnswer,
  type CommitAnswer,
  type Ledger,
  type PageCommit,
  type RowResult,
  type SingleAnswers,
} from '../ledger.ts';
import { parsePerPerson } from '../../audience/frequency-cap.ts';
import { outcomeColumns } from '../outcome-columns.ts';
import { idsAfter } from '../slices.ts';
import type { AgingTable } from '../retention.ts';
import type { PushServiceState } from '../push-services.ts';
import { callFunction } from './call-function.ts';
import { hashEndpoint } from '../../protocol/endpoint.ts';
import type { PostgresDatabase, Value } from './database.ts';
import { createPageReader, type PageRow } from './read-page.ts';

/** What `commit_page` answers. */
interface StoredAnswer extends CommitAnswer {
  /** Where not all rows of retries are leased under the token any more, and nothing was stored: the positions of those that
   *  are. */
  readonly leased?: readonly number[] | null;
}

/** Where a commit is known by its id. No call is repeated for so long. */
export const commitIds: AgingTable = { name: 'commits', key: 'id', keptMs: 10 * 60 * 1000 };

/** @param functions the schema of the database's functions */
export function createPostgresLedger(database: PostgresDatabase, functions: string): Ledger {
  const recipients = createPageReader(database);
  const gather = createAttemptGatherer();

  /** @returns the rows of a page, those of persons who have been reached often enough as capped */
  const reserve = async (
    broadcastId: number,
    perPerson: string,
    rows: readonly Recipient[],
  ): Promise<readonly Recipient[]> => {
    const { maxContacts, windowMs } = parsePerPerson(perPerson);
    const answer = await database.first<{ readonly capped: readonly number[] }>(
      `select ${functions}.reserve_reaches($1, $2, $3, $4, $5) as capped`,
      [
        database.now(),
        broadcastId,
        rows.map(({ endpoint }) => hashEndpoint(endpoint)),
        maxContacts,
        windowMs,
      ],
    );
    const capped = new Set(answer?.capped);
    return rows.map((row, index) => (capped.has(index + 1) ? { ...row, isCapped: true } : row));
  };

  const commit: Ledger['commit'] = async (page) => {
    const { call, values } = callFunction(`${functions}.commit_page`, {
      p_now_ms: database.now(),
      ...toArguments(page, gather(page.broadcastId, page.rows)),
    });
    const row = await database.first<{ readonly answer: StoredAnswer }>(`select ${call} as answer`, values);
    if (row === undefined) throw new Error('The page was not committed.');
    const { isLeaseLost, state, newAlarms, pushServices, leased } = row.answer;
    if (leased && leased.length > 0 && leased.length < page.rows.length) {
      const rows = page.rows.filter(({ recipient }) => leased.includes(recipient.position));
      return commit({ ...page, rows });
    }
    return { isLeaseLost, state, newAlarms, pushServices };
  };

  return {
    readRows: async ({ broadcastId, broadcast, slice, throughPosition, members }, afterPosition, limit) => {
      const page = await (members === undefined
        ? database.first<PageRow>(`select * from ${functions}.read_rows($1, $2, $3, $4, $5)`, [
            broadcastId,
            slice,
            afterPosition,
            throughPosition,
            limit,
          ])
        : database.first<PageRow>(`select * from ${functions}.read_members($1, $2, $3)`, [
            members.partition ?? null,
            toArrayText(idsAfter(members, afterPosition)),
            limit,
          ]));
      const rows = await recipients.ofPage(page);
      return broadcast.perPerson === undefined ? rows : reserve(broadcastId, broadcast.perPerson, rows);
    },

    commit,

    recordAnswers: async ({ id, origins, answers = [] }) => {
      const row = await database.first<{ readonly states: readonly PushServiceState[] }>(
        `select ${functions}.record_single_answers($1, $2, $3, $4) as states`,
        [database.now(), id, toJson(origins.map(toAnswered)), toJson(answers)],
      );
      return row?.states ?? [];
    },

    pushServices: async () => {
      const row = await database.first<{ readonly states: readonly PushServiceState[] }>(
        `select ${functions}.push_service_states(${functions}.clock($1)) as states`,
        [database.now()],
      );
      return row?.states ?? [];
    },
  };
}

/** JSON without NUL and lone surrogates, which `jsonb` refuses: one in a push service's words would fail its page each time. */
const toJson = (value: object, members?: string[]): string =>
  JSON.stringify(value, members).replaceAll(/\\(?:u(0000|d[89a-f]..)|.)/g, (escape, refused) =>
    refused === undefined ? escape : '\ufffd',
  );

/** What `record_single_answers` gets of one push service. */
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
    gone: goneSubscriptions.map(toKeys),
  };
}

const toKeys = ({ endpoint, p256dh, auth }: Subscription): object => ({
  hash: hashEndpoint(endpoint),
  p256dh: Buffer.from(p256dh).toString('hex'),
  auth: Buffer.from(auth).toString('hex'),
});

/** All that a set has besides its ids. */
const setMembers = ['answerId', 'outcome', 'attempt', 'sinceMs', 'firstId', 'lastId', 'rows'];

/** What `commit_page` gets besides the time. */
function toArguments(
  { broadcastId, fenceToken, leaseMs, slice, rows, answers = [] }: PageCommit,
  gathered: GatheredAttempts,
): Readonly<Record<string, Value>> {
  const origins = [...new Set(rows.map(({ origin }) => origin))];
  const indexOf = new Map(origins.map((origin, index) => [origin, index + 1]));
  const accepted = rows.filter(({ result }) => result === 'accepted').map(({ recipient }) => recipient);
  return {
    p_broadcast: broadcastId,
    p_token: fenceToken,
    lease_ms: leaseMs,
    p_commit: randomUUID(),
    slice: slice?.number ?? null,
    p_from: slice?.fromCursor ?? null,
    p_cursor: slice?.cursor ?? null,
    p_missing: slice?.missing ?? null,
    origins,
    names: origins.map(pushServiceName),
    positions: toArrayText(rows.map(({ recipient }) => recipient.position)),
    row_origins: toArrayText(rows.map(({ origin }) => indexOf.get(origin) ?? 0)),
    results: toArrayText(rows.map(({ result }) => result)),
    attempts: toArrayText(rows.map(({ attempts }) => attempts)),
    answered: toArrayText(rows.map(isAnswer)),
    retries: toJson(rows.flatMap(toRetry)),
    gone: toJson(rows.flatMap(toGone)),
    accepted_ids: toArrayText(accepted.flatMap(({ subscriptionId }) => subscriptionId ?? [])),
    accepted_hashes: accepted.flatMap(({ subscriptionId, endpoint }) =>
      subscriptionId === undefined ? [hashEndpoint(endpoint)] : [],
    ),
    alarms: toJson(rows.flatMap(({ origin, alarm }) => (alarm === undefined ? [] : [{ origin, ...alarm }]))),
    answers: toJson(answers),
    sets: toJson(gathered.sets, setMembers),
    set_ids: gathered.sets.map(({ ids }) => Buffer.from(ids)),
    set_answers: toJson(gathered.answers),
  };
}

/** An array as PostgreSQL reads it, of what needs no quotation marks: "pg" would examine each member for them. */
function toArrayText(members: readonly (number | boolean | RowResult['result'])[]): string {
  return `{${members.join(',')}}`;
}

function toRetry({ recipient, origin, result, retry, suspension }: RowResult): readonly object[] {
  if (retry === undefined) return [];
  const { position, subscriptionId, endpoint } = recipient;
  const { reader, ...tries } = retry;
  return [
    {
      position,
      // by which the row is found again; a row of a list is found by its position
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

function toGone({ recipient, origin, result }: RowResult): readonly object[] {
  if (result !== 'gone') return [];
  const { subscriptionId: id, endpoint, updatedAtMs } = recipient;
  if (id === undefined) return [{ origin, ...toKeys(recipient) }];
  return [{ origin, hash: hashEndpoint(endpoint), id, updatedAtMs }];
}
