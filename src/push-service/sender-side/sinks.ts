// Subscriptions without a user agent, for load tests: they count their messages. A million take 4 MB.
import { createECDH, randomBytes } from 'node:crypto';
import type { Addresses } from '../addresses.ts';
import type { Limits } from '../limits.ts';
import type { RecipientLookup } from '../push-message.ts';

/** A subscription as a page sends it to its application server. */
export interface PushSubscriptionJson {
  readonly endpoint: string;
  /** 65-byte P-256 point, base64url. */
  readonly p256dh: string;
  /** 16 bytes, base64url. */
  readonly auth: string;
}

/** What a batch of sinks has counted. */
export interface SinkTally {
  readonly batch: string;
  readonly sinks: number;
  readonly messages: number;
  /** Sinks by number of accepted messages: `{"0": 3, "1": 997}` means that 3 got none. */
  readonly sinksByMessages: Readonly<Record<number, number>>;
}

interface Batch {
  readonly name: string;
  readonly applicationServerKey: string | undefined;
  readonly counts: Uint32Array;
}

const goneMark = 0xffffffff;
const tokenForm = /^([0-9a-f]{16})-(0|[1-9][0-9]{0,9})$/;

export function createSinkBatches({ maxSinks }: Limits, addresses: Addresses) {
  const batches = new Map<string, Batch>();
  let size = 0;

  function find(token: string): { batch: Batch; index: number; count: number } | undefined {
    const [, name = '', digits = ''] = tokenForm.exec(token) ?? [];
    const batch = batches.get(name);
    const index = Number(digits);
    const count = batch?.counts[index];
    return batch === undefined || count === undefined ? undefined : { batch, index, count };
  }

  return {
    get size() {
      return size;
    },

    /**
     * Makes a batch of sinks. Each gets its own key pair when it is read; the private key is not kept, so nobody can
     * decrypt its messages.
     *
     * @throws {RangeError} `count` is not a positive integer, or too many sinks
     */
    create(count: number, applicationServerKey: string | undefined): Iterable<PushSubscriptionJson> {
      const capacity = maxSinks - size;
      if (!Number.isSafeInteger(count) || count < 1 || count > capacity) {
        throw new RangeError(`the number of sinks must be an integer from 1 to ${capacity}, not ${count}`);
      }
      const name = randomBytes(8).toString('hex');
      batches.set(name, { name, applicationServerKey, counts: new Uint32Array(count) });
      size += count;
      return subscriptionsOf(count, (index) => addresses.endpoint(`${name}-${index}`));
    },

    lookUp(token: string): RecipientLookup {
      const sink = find(token);
      if (sink === undefined) return undefined;
      const { batch, index, count } = sink;
      if (count === goneMark) return 'gone';
      return {
        applicationServerKey: batch.applicationServerKey,
        accept() {
          batch.counts[index] = count + 1;
          return 'accepted';
        },
      };
    },

    /** From now on this sink is gone (410). */
    expire(token: string): boolean {
      const sink = find(token);
      if (sink === undefined || sink.count === goneMark) return false;
      sink.batch.counts[sink.index] = goneMark;
      return true;
    },

    tally: (): SinkTally[] =>
      [...batches.values()].map(({ name, counts }) => {
        let messages = 0;
        const sinksByMessages: Record<number, number> = {};
        for (const count of counts) {
          if (count === goneMark) continue;
          messages += count;
          sinksByMessages[count] = (sinksByMessages[count] ?? 0) + 1;
        }
        return { batch: name, sinks: counts.length, messages, sinksByMessages };
      }),

    clear(): void {
      batches.clear();
      size = 0;
    },
  };
}

function* subscriptionsOf(
  count: number,
  endpointOf: (index: number) => string,
): Generator<PushSubscriptionJson> {
  const ecdh = createECDH('prime256v1');
  for (let index = 0; index < count; index += 1) {
    yield {
      endpoint: endpointOf(index),
      p256dh: ecdh.generateKeys('base64url'),
      auth: randomBytes(16).toString('base64url'),
    };
  }
}
