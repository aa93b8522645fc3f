// The ledger in PostgreSQL: reads the rows of slices, and commits what came of them, each by one call of a function.
import { randomUUID } from 'node:crypto';
import { pushServiceName } from '../../protocol/known-push-services.ts';
import { createAttemptGatherer, type GatheredAttempts } from '../attempt-sets.ts';
import type { Recipient } from '../broadcasts.ts';
import { isAnswer, type Ledger, type PageCommit, type RowResult } from '../ledger.ts';
import type { CommitAnswer, SingleCommit } from '../ledger.ts';
import { parsePerPerson } from '../../audience/frequency-cap.ts';
import type { OwnTable } from '../retention.ts';
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
export const commitIds: OwnTable = { name: 'commits', key: 'id', keptMs: 10 * 60 * 1000 };

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
    readRows: async ({ broadcastId, broadcast, slice, throughPosition }, afterPosition, limit) => {
      const page = await database.first<PageRow>(`select * from ${functions}.read_rows($1, $2, $3, $4, $5)`, [
        broadcastId,
        slice,
        afterPosition,
        throughPosition,
        limit,
      ]);
      const rows = await recipients.ofPage(page);
      return broadcast.perPerson === undefined ? rows : reserve(broadcastId, broadcast.perPerson, rows);
    },

    commit,

    recordAnswer: async ({ subscription, origin, vapidPublicKey, answer, waitMs }) => {
      const [accepted, refusalsInRow] = [Number(answer === 'accepted'), Number(answer === 'refused')];
      const row = await database.first<{ readonly result: SingleCommit }>(
        `select ${functions}.record_single_answer($1, $2, $3, $4, $5, $6, $7, $8) as result`,
        [
          database.now(),
          origin,
          pushServiceName(origin),
          answer,
          hashEndpoint(subscription.endpoint),
          Buffer.from(subscription.p256dh),
          Buffer.from(subscription.auth),
          JSON.stringify([
            { origin, vapidPublicKey, accepted, hasRefused: answer === 'refused', refusalsInRow, waitMs },
          ]),
        ],
      );
      if (row === undefined) throw new Error('The answer was not stored.');
      return row.result;
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
    origins,
    names: origins.map(pushServiceName),
    positions: toArrayText(rows.map(({ recipient }) => recipient.position)),
    row_origins: toArrayText(rows.map(({ origin }) => indexOf.get(origin) ?? 0)),
    results: toArrayText(rows.map(({ result }) => result)),
    attempts: toArrayText(rows.map(({ attempts }) => attempts)),
    answered: toArrayText(rows.map(isAnswer)),
    retries: JSON.stringify(rows.flatMap(toRetry)),
    gone: JSON.stringify(rows.flatMap(toGone)),
    accepted_ids: toArrayText(accepted.flatMap(({ subscriptionId }) => subscriptionId ?? [])),
    accepted_hashes: accepted.flatMap(({ subscriptionId, endpoint }) =>
      subscriptionId === undefined ? [hashEndpoint(endpoint)] : [],
    ),
    alarms: JSON.stringify(
      rows.flatMap(({ origin, alarm }) => (alarm === undefined ? [] : [{ origin, ...alarm }])),
    ),
    answers: JSON.stringify(answers),
    sets: JSON.stringify(gathered.sets, setMembers),
    set_ids: gathered.sets.map(({ ids }) => Buffer.from(ids)),
    set_answers: JSON.stringify(gathered.answers),
  };
}

/** An array as PostgreSQL reads it, of what needs no quotation marks: "pg" would examine each member for them. */
function toArrayText(members: readonly (number | boolean | RowResult['result'])[]): string {
  return `{${members.join(',')}}`;
}

function toRetry({ recipient, origin, result, retry, suspension }: RowResult): readonly object[] {
  if (retry === undefined) return [];
  const { position, subscriptionId, endpoint } = recipient;
  return [
    {
      position,
      // by which the row is found again; a row of a list is found by its position
      hash: hashEndpoint(endpoint),
      ...retry,
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
  const { subscriptionId: id, endpoint, p256dh, auth, updatedAtMs } = recipient;
  const hash = hashEndpoint(endpoint);
  if (id !== undefined) return [{ origin, hash, id, updatedAtMs }];
  return [
    {
      origin,
      hash,
      p256dh: Buffer.from(p256dh).toString('hex'),
      auth: Buffer.from(auth).toString('hex'),
    },
  ];
}
