// Counts each client's requests. If the database counts for all processes, the database's count applies. Each process
// also counts, so that clients over the limit cost the database nothing, and in case the database does not respond.
//
//   SHARED  asks the database; if that fails or is slow → ALONE
//   ALONE   uses this process's own counts; after a while → SHARED
import { hash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyRateLimitStore } from '@fastify/rate-limit';
import { mustBe } from '../errors/check-options.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';

/**
 * Number of counters that a process has for each limit. A hash of the client's name and a secret selects the counter,
 * so several clients can share one. This bounds the memory, and no client can reset its count by using other names.
 */
const places = 16_384;
const answerWithinMs = 1000;
const aloneForMs = 5000;

/** A client's requests in the current window. */
interface ClientWindow {
  readonly requests: number;
  readonly endsInMs: number;
}

interface SharedCounts {
  count(client: string, windowMs: number): Promise<ClientWindow | undefined>;
}

interface Window {
  requests: number;
  endsAtMs: number;
}

export interface ClientLimits extends FastifyRateLimitStore {
  count(client: string, windowMs: number, max: number): Promise<ClientWindow>;
}

/** Makes the store class for `@fastify/rate-limit`. @param shared absent if each process counts for itself */
export function createClientLimits(shared: SharedCounts | undefined): new () => ClientLimits {
  let aloneUntilMs = 0;

  const countShared = async (client: string, windowMs: number): Promise<ClientWindow | undefined> => {
    if (shared === undefined || Date.now() < aloneUntilMs) return undefined;
    const isLate = new AbortController();
    try {
      const late = sleep(answerWithinMs, 'late' as const, { signal: isLate.signal });
      late.catch(() => {});
      const window = await Promise.race([shared.count(client, windowMs), late]);
      if (window !== 'late') return window;
    } catch {
      // use this process's own counts; if the database has failed, the request itself will report the failure
    } finally {
      isLate.abort();
    }
    aloneUntilMs = Date.now() + aloneForMs;
    return undefined;
  };

  return class CountedLimits implements ClientLimits {
    readonly #windows = new Map<number, Window>();
    readonly #salt = randomUUID();

    child(): CountedLimits {
      return new CountedLimits();
    }

    async count(client: string, windowMs: number, max: number): Promise<ClientWindow> {
      const window = this.#windowOf(client, windowMs);
      window.requests += 1;
      const { requests } = window;
      const counted = requests > max ? undefined : await countShared(client, windowMs);
      if (counted !== undefined && counted.requests >= requests) {
        window.requests = Math.max(window.requests, counted.requests);
        window.endsAtMs = Date.now() + counted.endsInMs;
      }
      return {
        requests: Math.max(requests, counted?.requests ?? 0),
        endsInMs: Math.max(1, window.endsAtMs - Date.now()),
      };
    }

    async incr(...[client, done, windowMs, max]: Parameters<FastifyRateLimitStore['incr']>): Promise<void> {
      const { requests, endsInMs } = await this.count(client, windowMs, max);
      done(null, { current: requests, ttl: endsInMs });
    }

    #windowOf(client: string, windowMs: number): Window {
      const place = hash('sha256', this.#salt + client, 'buffer').readUInt32LE() % places;
      const known = this.#windows.get(place);
      if (known !== undefined && Date.now() < known.endsAtMs) return known;
      const window = { requests: 0, endsAtMs: Date.now() + windowMs };
      this.#windows.set(place, window);
      return window;
    }
  };
}

export const defaultRegistrationsPerMinute = 60;
export const defaultReceiptsPerMinute = 600;

export const isRequestLimit = mustBe(
  'a whole number above 0 or "off"',
  (value) => value === 'off' || (Number.isInteger(value) && Number(value) > 0),
);

/** The limit of a route, for `config.rateLimit`. @param what the client does with a request, such as "register" */
export function limitPerMinute(max: number | 'off', what: string) {
  return (
    max !== 'off' && {
      max,
      groupId: ` ${what}`,
      timeWindow: 60_000,
      errorResponseBuilder: (_request: unknown, { ttl }: { readonly ttl: number }) =>
        new DeskbellError(
          'ERR_RATE_LIMITED',
          `One client address may ${what} ${max} times a minute; wait ${Math.ceil(ttl / 1000)} s.`,
        ),
    }
  );
}
