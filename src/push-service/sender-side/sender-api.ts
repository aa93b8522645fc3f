// Sinks, for load tests: subscriptions without a user agent that count their messages. A million take 4 MB.
import { createECDH, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Addresses } from '../addresses.ts';
import { type Answer, emptyAnswer, readParameters, refusal } from '../http/exchange.ts';
import type { Limits } from '../limits.ts';
import type { ContentHeaders, PushMessage, RecipientLookup, Urgency } from '../push-message.ts';
import { createVapidVerifier } from './vapid-verification.ts';

/** A subscription in the form that a page sends to its application server. */
export interface PushSubscriptionJson {
  readonly endpoint: string;
  /** 65-byte P-256 point, base64url. */
  readonly p256dh: string;
  /** 16 bytes, base64url. */
  readonly auth: string;
}

/** How many messages one batch of sinks received. A sink is a test subscription that only counts its messages. */
export interface SinkTally {
  readonly batch: string;
  readonly sinks: number;
  readonly messages: number;
  /** Number of sinks for each number of accepted messages: `{"0": 3, "1": 997}` means that 3 sinks got none. */
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
     * Makes a batch of sinks. Each sink has its own key pair, which is made when the iteration reaches the sink.
     * Private keys are not kept, so nobody can decrypt the messages.
     *
     * @throws {RangeError} if `count` is not a positive integer, or there would be too many sinks
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

    /** Ends a sink, so that requests to it get a 410. */
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

// POST to a push resource (RFC 8030 §5). Delivery receipts (§5.1, `Prefer: respond-async`) are left out, because
// browsers' push services have none.

export interface PushRequest {
  readonly token: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array | 'tooLarge';
}

const retryAfterSeconds = '60';

/** @returns a function that processes a push request */
export function createSenderApi(
  { addresses, limits, checksBodies }: { addresses: Addresses; limits: Limits; checksBodies: boolean },
  lookUp: (token: string) => RecipientLookup,
  now: () => number,
) {
  const verifyVapid = createVapidVerifier(addresses.origin, now);

  function readMessage({ headers, body }: PushRequest): PushMessage | Answer {
    if (body === 'tooLarge') {
      return refusal('bodyTooLarge', `the body is over the limit of ${limits.maxBodyBytes} bytes`);
    }
    const { ttl, topic } = headers;
    if (ttl === undefined) return refusal('ttlMissing', 'the TTL header is missing');
    if (typeof ttl !== 'string' || !/^\d{1,15}$/.test(ttl)) {
      return refusal('ttlInvalid', 'TTL must be a whole number of seconds, one value');
    }
    // RFC 8030 §5.4: at most 32 base64url characters
    if (topic !== undefined && !(typeof topic === 'string' && /^[\w-]{1,32}$/.test(topic))) {
      return refusal('topicInvalid', 'Topic must be 1 to 32 characters of base64url');
    }
    const urgency = readUrgency(headers['urgency']);
    if (urgency === undefined) {
      return refusal('urgencyInvalid', 'Urgency must be one of very-low, low, normal, high');
    }
    const contentHeaders =
      body.byteLength === 0 ? undefined : readContentHeaders(headers, body, checksBodies);
    if (typeof contentHeaders === 'string') return refusal('encryptionInvalid', contentHeaders);
    const ttlSeconds = Math.min(Number(ttl), limits.maxTtlSeconds);
    return {
      version: randomBytes(16).toString('base64url'),
      body,
      contentHeaders,
      topic,
      urgency,
      ttlSeconds,
      expiresAtMs: now() + ttlSeconds * 1000,
    };
  }

  function checkSender(headers: IncomingHttpHeaders, requiredKey: string | undefined): Answer | undefined {
    const verdict = verifyVapid(headers);
    if (verdict.kind === 'invalid') return refusal('authorizationInvalid', verdict.reason);
    if (requiredKey === undefined) return undefined;
    if (verdict.kind === 'absent') {
      return refusal('authorizationMissing', 'this subscription asks for VAPID (RFC 8292)', {
        'www-authenticate': 'vapid',
      });
    }
    if (verdict.publicKey === requiredKey) return undefined;
    return refusal('authorizationInvalid', 'the subscription was made for another application server key');
  }

  return (request: PushRequest): Answer => {
    const recipient = lookUp(request.token);
    if (recipient === undefined) return refusal('endpointUnknown', 'there is no such subscription');
    if (recipient === 'gone') return refusal('endpointGone', 'the subscription has ended');
    const denial = checkSender(request.headers, recipient.applicationServerKey);
    if (denial !== undefined) return denial;
    const message = readMessage(request);
    if ('status' in message) return message;
    const outcome = recipient.accept(message);
    if (outcome === 'subscriptionFull') {
      const limit = limits.maxMessagesPerSubscription;
      const reason = `the subscription has ${limit} undelivered messages, as many as it may`;
      return refusal('subscriptionFull', reason, { 'retry-after': retryAfterSeconds });
    }
    if (outcome === 'serviceFull') {
      const reason = `undelivered messages fill the ${limits.maxStoredBytes} bytes there are for them`;
      return refusal('serviceFull', reason, { 'retry-after': retryAfterSeconds });
    }
    const location = addresses.messageUrl(message.version);
    return emptyAnswer(201, { location, ttl: String(message.ttlSeconds) });
  };
}

function readUrgency(value: string | string[] | undefined): Urgency | undefined {
  const urgency = String(value ?? 'normal').toLowerCase();
  return ['very-low', 'low', 'normal', 'high'].includes(urgency) ? (urgency as Urgency) : undefined;
}

/** Returns what the user agent needs for decryption, without the VAPID key (RFC 8292 §4.2), or what is wrong. */
function readContentHeaders(
  headers: IncomingHttpHeaders,
  body: Uint8Array,
  checksBody: boolean,
): ContentHeaders | string {
  const encoding = headers['content-encoding']?.toLowerCase();
  if (encoding === 'aes128gcm') {
    const fault = checksBody ? findBodyFault(body) : undefined;
    return fault ?? { encoding };
  }
  if (encoding === 'aesgcm') {
    const salt = readParameters(String(headers['encryption'] ?? ''), /[;,]/).get('salt');
    const senderKey = readParameters(String(headers['crypto-key'] ?? ''), /[;,]/).get('dh');
    if (salt === undefined) return 'aesgcm needs "salt" in the Encryption header';
    if (senderKey === undefined) return 'aesgcm needs "dh" in the Crypto-Key header';
    return { encoding, encryption: `salt=${salt}`, crypto_key: `dh=${senderKey}` };
  }
  return `Content-Encoding must be aes128gcm, not ${encoding ?? 'missing'}`;
}

/** Returns why the body cannot be decrypted, if this is visible without the keys (RFC 8291 §4). */
function findBodyFault(body: Uint8Array): string | undefined {
  const headerBytes = 16 + 4 + 1 + 65; // salt, rs, idlen, keyid
  const minRecordBytes = 1 + 16; // padding delimiter, tag
  if (body.byteLength < headerBytes + minRecordBytes) {
    return `an aes128gcm body has at least ${headerBytes + minRecordBytes} bytes, this one ${body.byteLength}`;
  }
  if (body[20] !== 65 || body[21] !== 0x04) return 'the keyid of the body must be a 65-byte P-256 point';
  const recordSize = new DataView(body.buffer, body.byteOffset).getUint32(16);
  if (recordSize < body.byteLength - headerBytes) {
    return `the body must be one record, but is longer than its record size of ${recordSize}`;
  }
  return undefined;
}
