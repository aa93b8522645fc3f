// The destinations of messages: a push service combined with one VAPID key. Most rows share a destination, so
// everything that depends only on scheme, host and key is determined once.
import { findAppleSubjectFault } from '../../protocol/vapid.ts';
import { splitEndpoint } from '../../protocol/endpoint.ts';
import type { EndpointPolicy } from '../../protocol/endpoint-policy.ts';
import type { PushOptions } from '../../protocol/request.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import { isApplePushService } from '../../protocol/known-push-services.ts';
import type { PushServiceAnswers, PushServiceState } from '../../store/push-services.ts';
import { dormantKnownForMs, type UnlistedPushServices } from '../../store/unlisted-push-services.ts';
import type { Clock } from '../../transport/clock.ts';
import type { Transport } from '../../transport/create-transport.ts';
import type { PushHeaders } from '../../transport/transport.ts';
import type { NotSendable } from '../limits/not-sent.ts';
import { OriginGate } from '../limits/origin-gate.ts';
import type { LoadSettings } from '../limits/origin-load.ts';
import { createHeaderSource, type SigningKeys } from './signing-keys.ts';

export interface Addressee extends Subscription {
  /** The VAPID key that the subscription was made with. If it is unknown, the current key. */
  readonly vapidPublicKey?: string | undefined;
}

export interface Destination {
  readonly origin: string;
  readonly vapidPublicKey: string;
  readonly isUnlisted: boolean;
  /**
   * True if the host is unlisted and has never accepted a message, although known or listed push services have just
   * accepted messages from this process. The failure is then the host's fault.
   */
  isSilentStranger(): boolean;
  /** True if broadcasts send nothing to the push service (`store/unlisted-push-services.ts`). */
  readonly isDormant: boolean;
  /** Makes the push service dormant. `storeDormant` writes this to the store. */
  setDormant(): void;
  /** Tells operators that this process's configuration does not list the push service; `undefined` if it does. */
  readonly notListed: string | undefined;
  /** Set if nothing may ever be sent to this destination. */
  readonly notSendable: NotSendable | undefined;
  readonly gate: OriginGate;
  /** @throws {DeskbellError} ERR_MESSAGE_INVALID */
  headersFor(options: PushOptions): PushHeaders;
}

/** After a known or listed push service accepts a message, our network counts as working for this long. */
const wellForMs = 5 * 60 * 1000;

/** Only this many hosts are remembered, because an operator may allow a whole domain. */
const maxRemembered = 1024;

export type Destinations = ReturnType<typeof createDestinations>;

export function createDestinations(
  signingKeys: SigningKeys,
  subject: string,
  policy: EndpointPolicy,
  gateSettings: LoadSettings,
  monotonicNow: Clock['monotonicNow'],
  transport: Pick<Transport, 'takeWaits' | 'pause'>,
  unlisted?: Pick<UnlistedPushServices, 'dormantAmong' | 'setDormant'>,
) {
  const byRoot = new Map<string, Map<string, Destination>>();
  let states: ReadonlyMap<string, PushServiceState> = new Map();
  /** The destination of the last message, because the next one usually goes there too. */
  let last: { readonly root: string; readonly destination: Destination } | undefined;
  const dormant = createDormant(unlisted, monotonicNow);

  const updateGate = ({ gate, origin, vapidPublicKey }: Destination): void =>
    gate.setState(states.get(`${origin} ${vapidPublicKey}`));

  function* all(): Generator<Destination> {
    for (const byKey of byRoot.values()) yield* byKey.values();
  }

  const isWell = (): boolean =>
    all().some(({ isUnlisted, gate }) => !isUnlisted && gate.acceptedAtMs > monotonicNow() - wellForMs);

  const open = (root: string, vapidPublicKey: string): Destination => {
    const fault = policy.check(root);
    const authorize = signingKeys.find(vapidPublicKey);
    const url = URL.parse(root);
    const origin = url?.origin ?? 'null';
    const isUnlisted = url !== null && policy.isUnlisted(origin);
    const gate = new OriginGate(gateSettings, monotonicNow);
    return {
      origin,
      vapidPublicKey,
      isUnlisted,
      isSilentStranger: () => isUnlisted && !gate.hasAccepted && isWell(),
      get isDormant() {
        return isUnlisted && dormant.has(origin);
      },
      setDormant: () => dormant.add(origin),
      notListed: fault && notListedDetail,
      notSendable: authorize === undefined ? foreignKey : findSubjectFault(origin, subject),
      gate,
      headersFor: authorize === undefined ? () => ({}) : createHeaderSource(authorize, origin),
    };
  };

  /** When hosts must be forgotten, unlisted ones go first, because there may be any number of them. */
  const forgetStrangers = (): void => {
    for (const [root, byKey] of byRoot)
      if (byKey.values().every(({ isUnlisted }) => isUnlisted)) byRoot.delete(root);
    if (byRoot.size >= maxRemembered) byRoot.clear();
  };

  const remember = (root: string): Map<string, Destination> => {
    if (byRoot.size >= maxRemembered) forgetStrangers();
    const byKey = new Map<string, Destination>();
    byRoot.set(root, byKey);
    return byKey;
  };

  const find = ({ endpoint, vapidPublicKey = signingKeys.current }: Addressee): Destination => {
    if (last?.destination.vapidPublicKey === vapidPublicKey && endpoint.startsWith(last.root)) {
      return last.destination;
    }
    const root = rootOf(endpoint);
    const byKey = byRoot.get(root) ?? remember(root);
    let found = byKey.get(vapidPublicKey);
    if (found === undefined) {
      found = open(root, vapidPublicKey);
      updateGate(found);
      byKey.set(vapidPublicKey, found);
    }
    last = root === endpoint ? undefined : { root, destination: found };
    return found;
  };

  return {
    /** True if messages can be signed with this key without calling `loadKeys` first. */
    hasKey: signingKeys.hasKey,

    /**
     * Prepares for `find`: loads missing keys, unloads retired keys, and reads which unlisted push services are dormant.
     *
     * @throws {DeskbellError} ERR_KEY_FILE_MISSING, ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_DATA_EXPOSED,
     *   ERR_FILE
     */
    async loadKeys(addressees: readonly Addressee[]): Promise<void> {
      const changed = await signingKeys.loadKeys(addressees.map(({ vapidPublicKey }) => vapidPublicKey));
      last = undefined;
      for (const key of changed) for (const byKey of byRoot.values()) byKey.delete(key);
      if (policy.admitsPublic)
        await dormant.read(addressees.map(find).filter(({ isUnlisted }) => isUnlisted));
    },

    find,

    /** @returns how push services have responded since the last call */
    takeAnswers(): readonly PushServiceAnswers[] {
      // a wait applies to all VAPID keys of an origin, so it is reported only with the origin's first key
      const waits = new Map(transport.takeWaits());
      return all()
        .flatMap(({ origin, vapidPublicKey, gate }) => {
          const answers = gate.takeAnswers();
          const waitMs = waits.get(origin);
          waits.delete(origin);
          if (answers === undefined && waitMs === undefined) return [];
          const none = { accepted: 0, hasRefused: false, refusalsInRow: 0 };
          return [{ origin, vapidPublicKey, ...none, ...answers, waitMs }];
        })
        .toArray();
    },

    /** Updates the destinations with what the store knows about push services. */
    setStates(known: readonly PushServiceState[]): void {
      states = new Map(known.map((state) => [`${state.origin} ${state.vapidPublicKey}`, state]));
      for (const destination of all()) updateGate(destination);
      for (const { origin, waitMs } of known) if (waitMs > 0) transport.pause(origin, waitMs);
    },

    /** Stores which push services have become dormant. */
    storeDormant: dormant.store,
  };
}

/** Remembers which push services are dormant, including those that are not stored yet. */
function createDormant(
  unlisted: Pick<UnlistedPushServices, 'dormantAmong' | 'setDormant'> | undefined,
  monotonicNow: Clock['monotonicNow'],
) {
  const known = new Map<string, { readonly isDormant: boolean; readonly readAtMs: number }>();
  const added = new Set<string>();
  const has = (origin: string): boolean => known.get(origin)?.isDormant === true;
  return {
    has,

    add(origin: string): void {
      if (unlisted === undefined || has(origin)) return;
      known.set(origin, { isDormant: true, readAtMs: monotonicNow() });
      added.add(origin);
    },

    async read(destinations: readonly Pick<Destination, 'origin'>[]): Promise<void> {
      const readAtMs = monotonicNow();
      const oldMs = readAtMs - dormantKnownForMs;
      const isOld = (origin: string) => (known.get(origin)?.readAtMs ?? -Infinity) <= oldMs;
      const origins = new Set(destinations.map(({ origin }) => origin).filter(isOld));
      if (unlisted === undefined || origins.size === 0) return;
      if (known.size > maxRemembered) known.clear();
      const dormant = new Set(await unlisted.dormantAmong([...origins]));
      for (const origin of origins) known.set(origin, { isDormant: dormant.has(origin), readAtMs });
    },

    async store(): Promise<void> {
      if (added.size === 0) return;
      const origins = [...added];
      added.clear();
      await unlisted?.setDormant(origins);
    },
  };
}

/** Returns path and query of an endpoint, verbatim. */
export function pathOf(endpoint: string): string {
  const root = rootOf(endpoint);
  return root === endpoint ? splitEndpoint(endpoint).path : endpoint.slice(root.length - 1);
}

/** Apple refuses some subjects. The refusal is known in advance, so nothing needs to be sent. */
function findSubjectFault(origin: string, subject: string): NotSendable | undefined {
  const detail = isApplePushService(origin) ? findAppleSubjectFault(subject) : undefined;
  return detail === undefined ? undefined : { reason: 'vapid-refused', detail };
}

const notListedDetail =
  'its messages wait for a process that lists it in "pushServices"; the configuration of one that delivers does not.';

const foreignKey: NotSendable = {
  reason: 'vapid-key-mismatch',
  detail: 'The subscription was made with a VAPID key that is not ours.',
};

/**
 * Returns the endpoint up to the slash after the host. If the host has no slash after it, returns the whole endpoint.
 */
function rootOf(endpoint: string): string {
  const pathStart = endpoint.indexOf('/', 'https://'.length);
  const root = endpoint.slice(0, pathStart + 1);
  return pathStart === -1 || root.includes('?') ? endpoint : root;
}
