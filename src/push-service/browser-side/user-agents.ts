// The user agents that the push service knows, their subscriptions, and what waits for them.
//
// A user agent is either connected (messages are delivered at once) or not (they wait in the mailbox). A message with a
// TTL stays in the mailbox until it is acknowledged, so that a dropped connection loses nothing: at least once.
import { randomBytes } from 'node:crypto';
import { nameOf } from '../addresses.ts';
import type { EventLog } from '../events.ts';
import type { Limits } from '../limits.ts';
import { Mailbox } from './mailbox.ts';
import type { PushMessage, Recipient, RecipientLookup } from '../push-message.ts';

/** A user agent's open connection, as far as delivery is concerned. */
export interface AgentConnection {
  /** False where the connection takes no more now. */
  deliver(channelId: string, message: PushMessage): boolean;
  close(code: number, reason: string): void;
}

export interface UserAgentRecord {
  readonly uaid: string;
  /** By channelID. */
  readonly subscriptions: Map<string, Subscription>;
  connection: AgentConnection | undefined;
}

export interface Subscription extends Recipient {
  readonly token: string;
  /** Stands for the endpoint in events. */
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

export class UserAgents {
  readonly #mailbox: Mailbox<Subscription>;
  readonly #agents = new Map<string, UserAgentRecord>();
  readonly #subscriptions = new Map<string, Subscription>();
  /** Tokens of subscriptions that are no more, oldest first. */
  readonly #gone = new Set<string>();
  readonly #limits: Limits;
  readonly #log: EventLog;

  constructor(limits: Limits, log: EventLog, now: () => number) {
    this.#mailbox = new Mailbox(limits, log, now);
    this.#limits = limits;
    this.#log = log;
  }

  statistics(): UserAgentStatistics {
    let connectedUserAgents = 0;
    for (const { connection } of this.#agents.values()) if (connection) connectedUserAgents += 1;
    return {
      subscriptions: this.#subscriptions.size,
      connectedUserAgents,
      undeliveredMessages: this.#mailbox.size,
      undeliveredBytes: this.#mailbox.bytes,
    };
  }

  /** The user agent of this `uaid`, or a new one with another `uaid` where it is not known. */
  connect(uaid: string | undefined, connection: AgentConnection): UserAgentRecord {
    const known = uaid === undefined ? undefined : this.#agents.get(uaid);
    const agent = known ?? {
      uaid: randomBytes(16).toString('hex'),
      subscriptions: new Map<string, Subscription>(),
      connection: undefined,
    };
    this.#agents.set(agent.uaid, agent);
    agent.connection?.close(1000, 'the same user agent has connected again');
    agent.connection = connection;
    this.#log.record({ type: 'connected', uaid: agent.uaid, isKnown: known !== undefined });
    return agent;
  }

  /** Sends again what this user agent has not acknowledged. */
  redeliver(agent: UserAgentRecord): void {
    for (const subscription of agent.subscriptions.values()) {
      for (const message of this.#mailbox.of(subscription)) this.#deliver(subscription, message);
    }
  }

  disconnect(agent: UserAgentRecord, connection: AgentConnection): void {
    if (agent.connection !== connection) return; // replaced by a newer one already
    agent.connection = undefined;
    this.#forgetIfUnused(agent);
    this.#log.record({ type: 'disconnected', uaid: agent.uaid });
  }

  /** Closes every user agent's connection; they are expected to reconnect. */
  disconnectAll(): void {
    for (const agent of this.#agents.values()) agent.connection?.close(1001, 'disconnected on demand');
  }

  /** Registering a channel again with the same key gives the same subscription. */
  register(
    agent: UserAgentRecord,
    channelId: string,
    applicationServerKey: string | undefined,
  ): Subscription | 'conflict' | 'full' {
    const existing = agent.subscriptions.get(channelId);
    if (existing) return existing.applicationServerKey === applicationServerKey ? existing : 'conflict';
    if (this.#subscriptions.size >= this.#limits.maxSubscriptions) return 'full';
    const token = randomBytes(24).toString('base64url');
    const subscription: Subscription = {
      token,
      name: nameOf(token),
      channelId,
      applicationServerKey,
      agent,
      accept: (message) => this.#accept(subscription, message),
    };
    agent.subscriptions.set(channelId, subscription);
    this.#subscriptions.set(token, subscription);
    this.#log.record({ type: 'registered', subscription: subscription.name });
    return subscription;
  }

  unregister(subscription: Subscription): void {
    const { token, agent } = subscription;
    agent.subscriptions.delete(subscription.channelId);
    this.#subscriptions.delete(token);
    this.#mailbox.empty(subscription);
    this.#gone.add(token);
    const [oldest] = this.#gone;
    if (this.#gone.size > maxRememberedGone && oldest !== undefined) this.#gone.delete(oldest);
    this.#forgetIfUnused(agent);
    this.#log.record({ type: 'unregistered', subscription: subscription.name });
  }

  /** Ends a subscription without telling its user agent. False where there is none. */
  expire(token: string): boolean {
    const subscription = this.#subscriptions.get(token);
    if (subscription !== undefined) this.unregister(subscription);
    return subscription !== undefined;
  }

  /** Drops a message that its sender withdraws. False where it is not waiting. */
  withdraw(version: string): boolean {
    const stored = this.#mailbox.find(version);
    if (stored !== undefined) this.#mailbox.withdraw(stored);
    return stored !== undefined;
  }

  lookUp(token: string): RecipientLookup {
    return this.#subscriptions.get(token) ?? (this.#gone.has(token) ? 'gone' : undefined);
  }

  /** The user agent has handled a message, or could not; acknowledging twice does no harm. */
  acknowledge(agent: UserAgentRecord, version: string, code: number): void {
    const stored = this.#mailbox.find(version);
    if (stored !== undefined) {
      if (stored.owner.agent !== agent) return;
      this.#mailbox.take(stored);
    }
    const subscription = stored?.owner.name ?? '';
    this.#log.record({ type: 'acknowledged', subscription, version, code });
  }

  #accept(subscription: Subscription, message: PushMessage): ReturnType<Recipient['accept']> {
    if (message.ttlSeconds === 0) {
      // RFC 8030 §5.2: delivered to a connected user agent or not at all
      if (message.topic !== undefined) this.#mailbox.dropTopic(subscription, message.topic);
      if (!this.#deliver(subscription, message)) {
        const { name } = subscription;
        this.#log.record({
          type: 'dropped',
          subscription: name,
          version: message.version,
          why: 'no-connection',
        });
      }
      return 'accepted';
    }
    const outcome = this.#mailbox.add(subscription, message);
    if (outcome === 'accepted') this.#deliver(subscription, message);
    return outcome;
  }

  #deliver(subscription: Subscription, message: PushMessage): boolean {
    const isWritten = subscription.agent.connection?.deliver(subscription.channelId, message) === true;
    if (isWritten) {
      this.#log.record({ type: 'delivered', subscription: subscription.name, version: message.version });
    }
    return isWritten;
  }

  /** A user agent that is away and has no subscription can have nothing waiting. */
  #forgetIfUnused(agent: UserAgentRecord): void {
    if (agent.connection === undefined && agent.subscriptions.size === 0) this.#agents.delete(agent.uaid);
  }
}
