// Recognises what other services export, and says why it cannot be imported.
import { isJsonObject } from '../../protocol/json-object.ts';
import { normalizeName } from './member-names.ts';
import type { Row } from './given-members.ts';

const instead =
  "Put Deskbell's client on your pages: at each reader's next visit it subscribes the browser anew, without asking again (docs/moving.md)";

interface Provider {
  /** Why it cannot be imported, in a sentence. */
  readonly reason: string;
  /** @param names in the normal form */
  fits(names: ReadonlySet<string>, row: Row): boolean;
}

const tokenNames = ['fcmtoken', 'registrationtoken', 'devicetoken', 'firebasetoken', 'token', 'tokens'];

const providers: readonly Provider[] = [
  {
    reason:
      'these are subscriptions of OneSignal, made with a VAPID key whose private half only OneSignal has, so that no other server can send to them (if you have that pair, import it and name its public key in a column vapid_public_key)',
    fits: (names) => names.has('identifier') && !names.has('vapidpublickey'),
  },
  {
    reason:
      'these are registration tokens of Firebase, which hold no subscription and can be sent to through Firebase alone',
    fits: (names, row) =>
      tokenNames.some((name) => names.has(name)) || Object.values(row).some((value) => isToken(value)),
  },
];

const isToken = (value: unknown): boolean =>
  typeof value === 'string'
    ? /^[\w-]{8,}:APA91[\w-]{20,}$/.test(value)
    : (Array.isArray(value) || isJsonObject(value)) && Object.values(value).some(isToken);

/** @returns two sentences about a row of another service, without a full stop; undefined for others */
export function findProvider(row: Row): string | undefined {
  const names = new Set(Object.keys(row).map(normalizeName));
  const found = providers.find((provider) => provider.fits(names, row));
  return found && `${found.reason}. ${instead}`;
}
