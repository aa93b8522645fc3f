// The undelivered messages of all subscriptions: kept until acknowledged, expired, replaced by topic or removed.
// Nothing runs on a timer: expired messages leave when their subscription is looked at, or when room is needed.
import type { EventLog } from '../events.ts';
import type { Limits } from '../limits.ts';
import type { PushMessage } from '../push-message.ts';

/** Whose message it is: the mailbox needs its name only. */
export interface MailboxOwner {
  readonly name: string;
}

export interface StoredMessage<Owner extends MailboxOwner> {
  readonly owner: Owner;
  readonly message: PushMessage;
}

const overheadBytes = 512; // what a stored message costs beside its body, roughly

export class Mailbox<Owner extends MailboxOwner> {
  readonly #byVersion = new Map<string, StoredMessage<Owner>>();
  readonly #byOwner = new Map<Owner, Map<string, PushMessage>>();
  readonly #limits: Limits;
  readonly #log: EventLog;
  readonly #now: () => number;
  #bytes = 0;

  constructor(limits: Limits, log: EventLog, now: () => number) {
    this.#limits = limits;
    this.#log = log;
    this.#now = now;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#byVersion.size;
  }

  /** Keeps a message; it replaces one with the same topic that has not been acknowledged (RFC 8030 §5.4). */
  add(owner: Owner, message: PushMessage): 'accepted' | 'subscriptionFull' | 'serviceFull' {
    const kept = this.of(owner);
    const replaced = kept.find(({ topic }) => topic !== undefined && topic === message.topic);
    if (kept.length - (replaced ? 1 : 0) >= this.#limits.maxMessagesPerSubscription)
      return 'subscriptionFull';
    const bytes = sizeOf(message) - (replaced ? sizeOf(replaced) : 0);
    if (this.#bytes + bytes > this.#limits.maxStoredBytes) this.#dropAllExpired();
    if (this.#bytes + bytes > this.#limits.maxStoredBytes) return 'serviceFull';
    if (replaced) this.#drop(owner, replaced, 'replaced');
    let messages = this.#byOwner.get(owner);
    if (messages === undefined) this.#byOwner.set(owner, (messages = new Map()));
    messages.set(message.version, message);
    this.#byVersion.set(message.version, { owner, message });
    this.#bytes += sizeOf(message);
    return 'accepted';
  }

  /** Drops what a message that is not itself kept (TTL 0) replaces. */
  dropTopic(owner: Owner, topic: string): void {
    for (const message of this.of(owner)) {
      if (message.topic === topic) this.#drop(owner, message, 'replaced');
    }
  }

  find(version: string): StoredMessage<Owner> | undefined {
    const stored = this.#byVersion.get(version);
    if (stored === undefined || stored.message.expiresAtMs > this.#now()) return stored;
    this.#drop(stored.owner, stored.message, 'expired');
    return undefined;
  }

  /** Messages of one owner that have not expired, oldest first. */
  of(owner: Owner): PushMessage[] {
    const messages = [...(this.#byOwner.get(owner)?.values() ?? [])];
    const now = this.#now();
    return messages.filter((message) => {
      if (message.expiresAtMs > now) return true;
      this.#drop(owner, message, 'expired');
      return false;
    });
  }

  /** Takes out a message that has arrived. */
  take(stored: StoredMessage<Owner>): void {
    this.#remove(stored.owner, stored.message);
  }

  /** Drops a message that its sender has withdrawn. */
  withdraw(stored: StoredMessage<Owner>): void {
    this.#drop(stored.owner, stored.message, 'removed');
  }

  /** Drops everything of an owner that is no more. */
  empty(owner: Owner): void {
    for (const message of this.#byOwner.get(owner)?.values() ?? [])
      this.#drop(owner, message, 'unregistered');
  }

  #dropAllExpired(): void {
    for (const owner of this.#byOwner.keys()) this.of(owner);
  }

  #drop(owner: Owner, message: PushMessage, why: 'expired' | 'replaced' | 'removed' | 'unregistered'): void {
    this.#remove(owner, message);
    this.#log.record({ type: 'dropped', subscription: owner.name, version: message.version, why });
  }

  #remove(owner: Owner, message: PushMessage): void {
    const messages = this.#byOwner.get(owner);
    if (messages?.delete(message.version) !== true) return;
    if (messages.size === 0) this.#byOwner.delete(owner);
    this.#byVersion.delete(message.version);
    this.#bytes -= sizeOf(message);
  }
}

function sizeOf(message: PushMessage): number {
  return message.body.byteLength + overheadBytes;
}
