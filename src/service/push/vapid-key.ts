// GET /vapidKey: the public key, in the form that browsers take as `applicationServerKey`.
import type { IncomingHttpHeaders } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { lookUp } from '../../errors/check-options.ts';
import { represent, type Representation, sendRepresentation } from '../../http/client-files.ts';
import { contentResponse, type Operation } from '../../http/description/operation.ts';
import { jsonContentType } from '../../http/json-body.ts';
import { ProblemError } from '../../http/problem.ts';
import { type ServiceApp, Type } from '../../http/schema.ts';
import { decodeBase64, encodeBase64url } from '../../protocol/bytes.ts';
import type { Store } from '../../store/store.ts';
import type { VapidKeyState } from '../../store/vapid-keys.ts';
import type { Settings } from '../options.ts';

export function addVapidKeyRoute(app: ServiceApp, readVapidKeys: ReadVapidKeys, exampleKey: string): void {
  const operation: Operation = {
    operationId: 'getVapidKey',
    tag: 'Web Push',
    summary: 'The key that browsers subscribe with',
    description: 'Fetch the key again before each use, since a stale key loses subscribers.',
    responses: {
      200: contentResponse(
        'application/json',
        'The uncompressed P-256 point as unpadded base64url.',
        Type.String({ pattern: '^[A-Za-z0-9_-]{87}$' }),
        exampleKey,
        { ETag: { schema: { type: 'string' } } },
      ),
      304: {
        description: 'The key is the one named in If-None-Match.',
        headers: { ETag: { schema: { type: 'string' } } },
      },
    },
    errors: ['ERR_STORE_UNAVAILABLE'],
  };
  let representation: (Representation & { readonly key: string }) | undefined;
  app.get('/vapidKey', { config: { operation } }, async (request, reply) => {
    const { vapidPublicKey } = await readVapidKeys();
    if (representation?.key !== vapidPublicKey) {
      representation = {
        key: vapidPublicKey,
        ...represent(JSON.stringify(vapidPublicKey), jsonContentType),
      };
    }
    return sendRepresentation(request, reply, representation);
  });
}

// Reads the service's public keys as they are now. `deskbell keys rotate` changes them while services run. The database
// says which key is current, so all services that use it offer the same key. Nothing is cached, but requests in the
// same turn of the event loop, and those that arrive during a read, share one read.

/** @throws {DeskbellError} ERR_STORE_UNAVAILABLE */
export type ReadVapidKeys = () => Promise<VapidPublicKeys>;

/** @param given the keys from the options; if the store has `given.vapidPublicKey`, its keys are used instead */
export function createReadVapidKeys(
  { vapidKeys }: Pick<Store, 'vapidKeys'>,
  given: VapidPublicKeys,
): ReadVapidKeys {
  const read = async (): Promise<VapidPublicKeys> => {
    const ours = (await vapidKeys.list()).filter(({ state }) => state !== undefined);
    const current = ours.find(({ state }) => state === 'current');
    const isKnown = ours.some(({ publicKey }) => publicKey === given.vapidPublicKey);
    if (current === undefined || !isKnown) return given;
    const inState = (wanted: VapidKeyState): readonly string[] =>
      ours.filter(({ state }) => state === wanted).map(({ publicKey }) => publicKey);
    const retired = inState('retired');
    const others = given.previousVapidPublicKeys.filter((key) => !retired.includes(key));
    return {
      vapidPublicKey: current.publicKey,
      previousVapidPublicKeys: [...inState('previous'), ...others],
    };
  };

  let underWay: Promise<unknown> = Promise.resolve();
  let next: Promise<VapidPublicKeys> | undefined;
  const readNext = async (): Promise<VapidPublicKeys> => {
    await underWay;
    await nextTurn();
    next = undefined;
    const reading = read();
    underWay = reading.catch(() => {});
    return reading;
  };
  return () => (next ??= readNext());
}

// Reads from a request header the VAPID key that a browser subscribed with. Push services accept only messages signed
// with that key, so the service refuses a key that it does not have.

export const vapidKeyHeader = 'Deskbell-Vapid-Key';

type VapidPublicKeys = Pick<Settings, 'vapidPublicKey' | 'previousVapidPublicKeys'>;

/**
 * Returns the public key of a registration: the current key if the header is absent.
 *
 * @throws {ProblemError} ERR_VAPID_KEY_UNKNOWN; the problem's `vapidPublicKey` is the current key
 */
export function readVapidKey(
  headers: IncomingHttpHeaders,
  { vapidPublicKey, previousVapidPublicKeys }: VapidPublicKeys,
): string {
  const value = lookUp(headers, vapidKeyHeader.toLowerCase());
  if (value === undefined) return vapidPublicKey;
  const bytes = decodeBase64(String(value));
  const named = bytes && encodeBase64url(bytes);
  const known = [vapidPublicKey, ...previousVapidPublicKeys].find((key) => key === named);
  if (known !== undefined) return known;
  throw new ProblemError(
    'ERR_VAPID_KEY_UNKNOWN',
    `${vapidKeyHeader} names no key of this service; subscribe again with the current one.`,
    { vapidPublicKey },
  );
}
