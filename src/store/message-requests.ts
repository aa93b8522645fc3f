// Single messages with an idempotency key: the request is stored before anything is sent, the response afterwards.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { run, type PortableDatabase } from './portable-sql.ts';

/** An idempotency key is usually free again after this time. Clients repeat their requests within minutes. */
export const keyLifetimeMs = 24 * 60 * 60 * 1000;

/** Each new request removes up to this many expired ones. */
const pruneBatchSize = 100;

export interface MessageRequest {
  readonly key: string;
  /** 32 bytes, equal for equal requests. */
  readonly contentHash: Uint8Array;
  /** Stays the same when a call is repeated because its response was lost. All other calls have different values. */
  readonly claim: string;
}

export type MessageRequests = ReturnType<typeof createMessageRequests>;

export function createMessageRequests(database: PortableDatabase) {
  return {
    /**
     * Reserves the key durably, or finds the earlier request that has it.
     *
     * @returns the response to the earlier request; `undefined` if there was none, so the message may be sent
     * @throws {DeskbellError} ERR_IDEMPOTENCY_KEY if the key belongs to different content, ERR_MESSAGE_IN_DOUBT if the
     *   earlier request has no response: it is still being sent, or its process ended or failed
     */
    begin: ({ key, contentHash, claim }: MessageRequest) =>
      database.transaction(function* () {
        const nowMs = database.now();
        yield* run(
          `delete from deskbell.message_requests where at_ms < :beforeMs and (key = :key or key in (
             select key from deskbell.message_requests where at_ms < :beforeMs
             order by at_ms limit ${pruneBatchSize}))`,
          { key, beforeMs: nowMs - keyLifetimeMs },
        );
        // on conflict, update the row, so that it is returned even if somebody else has just added it
        const [row] = yield* run<StoredRequest>(
          `insert into deskbell.message_requests as r (key, content_hash, claim, at_ms)
           values (:key, :contentHash, :claim, :nowMs)
           on conflict (key) do update set claim = r.claim
           returning content_hash, claim, answer`,
          { key, contentHash, claim, nowMs },
        );
        return row!.claim === claim ? undefined : repeatRequest(row!, contentHash);
      }),
    finish: ({ key, claim }: MessageRequest, answer: string) =>
      database.write(
        'update deskbell.message_requests set answer = :answer where key = :key and claim = :claim',
        { key, claim, answer },
      ),
    /** Releases the key, because nothing was sent. */
    release: ({ key, claim }: MessageRequest) =>
      database.write('delete from deskbell.message_requests where key = :key and claim = :claim', {
        key,
        claim,
      }),
  };
}

/** The earlier request with this idempotency key. */
interface StoredRequest {
  readonly content_hash: Uint8Array;
  readonly claim: string;
  readonly answer: string | null;
}

/** @throws {DeskbellError} ERR_IDEMPOTENCY_KEY, ERR_MESSAGE_IN_DOUBT */
function repeatRequest(stored: StoredRequest, contentHash: Uint8Array): string {
  if (Buffer.compare(stored.content_hash, contentHash) !== 0) {
    throw new DeskbellError(
      'ERR_IDEMPOTENCY_KEY',
      'The idempotency key belongs to a request with another message, recipient or option.',
    );
  }
  if (stored.answer !== null) return stored.answer;
  throw new DeskbellError(
    'ERR_MESSAGE_IN_DOUBT',
    'The request with this idempotency key has no answer: it is being sent, or the process ended or failed while it was. It may have been ' +
      'sent, and is not sent again; ask once more in a minute.',
  );
}
