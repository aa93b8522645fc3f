// The user agents that the push service knows, their subscriptions, and their undelivered messages. Messages are sent
// at once to a connected user agent; otherwise they wait in the mailbox. A message with a TTL stays there until it is
// acknowledged. So a lost connection loses no message, but may deliver it twice.
import { randomBytes } from 'node:crypto';
import { nameOf } from '../addresses.ts';
import type { EventLog } from '../events.ts';
import type { Limits } from '../limits.ts';
import type { PushMessage, Recipient, RecipientLookup } from '../push-message.ts';

export interface AgentConnection {
  /** Returns false if the connection cannot take more messages at the moment. */
  deliver(channelId: string, message: PushMessage): boolean;
  close(code: number, reason: string): void;
}

export interface UserAgentRecord {
  readonly uaid: string;
  readonly subscriptions: Map<string, Subscription>;
  connection: AgentConnection | undefined;
}

export interface Subscription extends Recipient {
  readonly token: string;
  readonly name: string;
  readonly channelId: string;
  readonly agent: UserAgentRecord;
}

export interface UserAgentStatistics {
  readonly subscriptions: number;
  readonly connectedUserAgents: number;
  readonly undeliveredMessages: number;
  readonly undeliveredBytes: number;
}

const maxRememberedGone = 100_000;

export type UserAgents = ReturnType<typeof createUserAgents>;

export function createUserAgents(limits: Limits, log: EventLog, now: () => number) {
  const mailbox = createMailbox(limits, log, now);
  const agents = new Map<string, UserAgentRecord>();
  const subscriptions = new Map<string, Subscription>();
  const gone = new Set<string>();

  function deliver({ agent, channelId, name }: Subscription, message: PushMessage): boolean {
    const isWritten = agent.connection?.deliver(channelId, message) === true;
    if (isWritten) log.record({ type: 'delivered', subscription: name, version: message.version });
    return isWritten;
  }

  function accept(subscription: Subscription, message: PushMessage): ReturnType<Recipient['accept']> {
    const { ttlSeconds, topic, version } = message;
    if (ttlSeconds > 0) {
      const outcome = mailbox.add(subscription, message);
      if (outcome === 'accepted') deliver(subscription, message);
      return outcome;
    }
    // RFC 8030 §5.2: with TTL 0, deliver to a connected user agent or not at all
    if (topic !== undefined) mailbox.dropTopic(subscription, topic);
    if (!deliver(subscription, message))
      log.record({ type: 'dropped', subscription: subscription.name, version, why: 'no-connection' });
    return 'accepted';
  }

  /** Forgets a user agent that is disconnected and has no subscriptions. No messages can be waiting for it. */
  function forgetIfUnused({ uaid, connection, subscriptions: own }: UserAgentRecord): void {
    if (connection === undefined && own.size === 0) agents.delete(uaid);
  }

  function unregister(subscription: Subscription): void {
    const { token, agent, channelId, name } = subscription;
    agent.subscriptions.delete(channelId);
    subscriptions.delete(token);
    mailbox.empty(subscription);
    gone.add(token);
    const [oldest] = gone;
    if (gone.size > maxRememberedGone && oldest !== undefined) gone.delete(oldest);
    forgetIfUnused(agent);
    log.record({ type: 'unregistered', subscription: name });
  }

  return {
    unregister,
    withdraw: mailbox.withdraw,

    statistics: (): UserAgentStatistics => ({
      subscriptions: subscriptions.size,
      connectedUserAgents: agents
        .values()
        .filter(({ connection }) => connection)
        .toArray().length,
      undeliveredMessages: mailbox.size,
      undeliveredBytes: mailbox.bytes,
    }),

    /** Returns the user agent with this `uaid`, or a new one with another `uaid`. */
    connect(uaid: string | undefined, connection: AgentConnection): UserAgentRecord {
      const known = uaid === undefined ? undefined : agents.get(uaid);
      const agent = known ?? {
        uaid: randomBytes(16).toString('hex'),
        subscriptions: new Map<string, Subscription>(),
        connection: undefined,
      };
      agents.set(agent.uaid, agent);
      if (agent.connection !== undefined) {
        agent.connection.close(1000, 'the same user agent has connected again');
        log.record({ type: 'disconnected', uaid: agent.uaid });
      }
      agent.connection = connection;
      log.record({ type: 'connected', uaid: agent.uaid, isKnown: known !== undefined });
      return agent;
    },

    redeliver(agent: UserAgentRecord): void {
      for (const subscription of agent.subscriptions.values()) {
        for (const message of mailbox.of(subscription)) deliver(subscription, message);
      }
    },

    disconnect(agent: UserAgentRecord, connection: AgentConnection): void {
      if (agent.connection !== connection) return; // a newer connection has already replaced it
      agent.connection = undefined;
      forgetIfUnused(agent);
      log.record({ type: 'disconnected', uaid: agent.uaid });
    },

    disconnectAll(): void {
      for (const agent of agents.values()) agent.connection?.close(1001, 'disconnected on demand');
    },

    /** Registers a channel. Registering it again with the same key returns the same subscription. */
    register(
      agent: UserAgentRecord,
      channelId: string,
      applicationServerKey: string | undefined,
    ): Subscription | 'conflict' | 'full' {
      const existing = agent.subscriptions.get(channelId);
      if (existing) return existing.applicationServerKey === applicationServerKey ? existing : 'conflict';
      if (subscriptions.size >= limits.maxSubscriptions) return 'full';
      const token = randomBytes(24).toString('base64url');
      const subscription: Subscription = {
        token,
        name: nameOf(token),
        channelId,
        applicationServerKey,
        agent,
        accept: (message) => accept(subscription, message),
      };
      agent.subscriptions.set(channelId, subscription);
      subscriptions.set(token, subscription);
      log.record({ type: 'registered', subscription: subscription.name });
      return subscription;
    },

    /** Ends a subscription without telling its user agent. Returns false if it does not exist. */
    expire(token: string): boolean {
      const subscription = subscriptions.get(token);
      if (subscription !== undefined) unregister(subscription);
      return subscription !== undefined;
    },

    lookUp: (token: string): RecipientLookup =>
      subscriptions.get(token) ?? (gone.has(token) ? 'gone' : undefined),

    acknowledge(
      agent: UserAgentRecord,
      { channelId, version, code }: { channelId: string; version: string; code: number },
    ): void {
      const stored = mailbox.find(version);
      if (stored !== undefined) {
        if (stored.owner.agent !== agent) return;
        mailbox.take(stored);
      }
      // a message with TTL 0 is not stored, so look the subscription up by its channel
      const { name: subscription = '' } = stored?.owner ?? agent.subscriptions.get(channelId) ?? {};
      log.record({ type: 'acknowledged', subscription, version, code });
    },
  };
}

// Undelivered messages of all subscriptions. A message is kept until it is acknowledged, removed, expired or replaced
// by one with the same topic. There is no timer: expired messages are dropped on access or when memory is needed.

interface StoredMessage {
  readonly owner: Subscription;
  readonly message: PushMessage;
}

const overheadBytes = 512; // rough cost of a stored message besides its body

function createMailbox(limits: Limits, log: EventLog, now: () => number) {
  const byVersion = new Map<string, StoredMessage>();
  const byOwner = new Map<Subscription, Map<string, PushMessage>>();
  let storedBytes = 0;

  function take({ owner, message }: StoredMessage): void {
    const messages = byOwner.get(owner);
    if (messages?.delete(message.version) !== true) return;
    if (messages.size === 0) byOwner.delete(owner);
    byVersion.delete(message.version);
    storedBytes -= sizeOf(message);
  }

  function drop(
    owner: Subscription,
    message: PushMessage,
    why: 'expired' | 'replaced' | 'removed' | 'unregistered',
  ): void {
    take({ owner, message });
    log.record({ type: 'dropped', subscription: owner.name, version: message.version, why });
  }

  function of(owner: Subscription): PushMessage[] {
    const messages = [...(byOwner.get(owner)?.values() ?? [])];
    const nowMs = now();
    return messages.filter((message) => {
      if (message.expiresAtMs > nowMs) return true;
      drop(owner, message, 'expired');
      return false;
    });
  }

  function find(version: string): StoredMessage | undefined {
    const stored = byVersion.get(version);
    if (stored === undefined || stored.message.expiresAtMs > now()) return stored;
    drop(stored.owner, stored.message, 'expired');
    return undefined;
  }

  return {
    of,
    find,
    take,

    get bytes() {
      return storedBytes;
    },

    get size() {
      return byVersion.size;
    },

    /** Stores a message. It replaces an unacknowledged message with the same topic (RFC 8030 §5.4). */
    add(owner: Subscription, message: PushMessage): 'accepted' | 'subscriptionFull' | 'serviceFull' {
      const kept = of(owner);
      const replaced = kept.find(({ topic }) => topic !== undefined && topic === message.topic);
      if (kept.length - (replaced ? 1 : 0) >= limits.maxMessagesPerSubscription) return 'subscriptionFull';
      const bytes = sizeOf(message) - (replaced ? sizeOf(replaced) : 0);
      if (storedBytes + bytes > limits.maxStoredBytes) for (const other of byOwner.keys()) of(other);
      if (storedBytes + bytes > limits.maxStoredBytes) return 'serviceFull';
      if (replaced) drop(owner, replaced, 'replaced');
      let messages = byOwner.get(owner);
      if (messages === undefined) byOwner.set(owner, (messages = new Map()));
      messages.set(message.version, message);
      byVersion.set(message.version, { owner, message });
      storedBytes += sizeOf(message);
      return 'accepted';
    },

    /** Drops the stored message with this topic, because a message with TTL 0 replaces it. */
    dropTopic(owner: Subscription, topic: string): void {
      for (const message of of(owner)) if (message.topic === topic) drop(owner, message, 'replaced');
    },

    withdraw(version: string): boolean {
      const stored = find(version);
      if (stored !== undefined) drop(stored.owner, stored.message, 'removed');
      return stored !== undefined;
    },

    empty(owner: Subscription): void {
      for (const message of byOwner.get(owner)?.values() ?? []) drop(owner, message, 'unregistered');
    },
  };
}

function sizeOf(message: PushMessage): number {
  return message.body.byteLength + overheadBytes;
}
