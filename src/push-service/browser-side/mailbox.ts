// The undelivered messages of all subscriptions, kept until acknowledged, expired, replaced by topic or removed. There
// is no timer: expired messages are dropped when their subscription is looked at or room is needed.
import type { EventLog } from '../events.ts';
import type { Limits } from '../limits.ts';
import type { PushMessage } from '../push-message.ts';

interface MailboxOwner {
  readonly name: string;
}

interface StoredMessage<Owner> {
  readonly owner: Owner;
  readonly message: PushMessage;
}

const overheadBytes = 512; // rough cost of a stored message besides its body

export function createMailbox<Owner extends MailboxOwner>(limits: Limits, log: EventLog, now: () => number) {
  const byVersion = new Map<string, StoredMessage<Owner>>();
  const byOwner = new Map<Owner, Map<string, PushMessage>>();
  let storedBytes = 0;

  function take({ owner, message }: StoredMessage<Owner>): void {
    const messages = byOwner.get(owner);
    if (messages?.delete(message.version) !== true) return;
    if (messages.size === 0) byOwner.delete(owner);
    byVersion.delete(message.version);
    storedBytes -= sizeOf(message);
  }

  function drop(
    owner: Owner,
    message: PushMessage,
    why: 'expired' | 'replaced' | 'removed' | 'unregistered',
  ): void {
    take({ owner, message });
    log.record({ type: 'dropped', subscription: owner.name, version: message.version, why });
  }

  /** Unexpired messages of one owner, oldest first. */
  function of(owner: Owner): PushMessage[] {
    const messages = [...(byOwner.get(owner)?.values() ?? [])];
    const nowMs = now();
    return messages.filter((message) => {
      if (message.expiresAtMs > nowMs) return true;
      drop(owner, message, 'expired');
      return false;
    });
  }

  function find(version: string): StoredMessage<Owner> | undefined {
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

    /** Keeps a message; it replaces an unacknowledged one with the same topic (RFC 8030 §5.4). */
    add(owner: Owner, message: PushMessage): 'accepted' | 'subscriptionFull' | 'serviceFull' {
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

    /** Drops the message that one with TTL 0 replaces. */
    dropTopic(owner: Owner, topic: string): void {
      for (const message of of(owner)) if (message.topic === topic) drop(owner, message, 'replaced');
    },

    withdraw(version: string): boolean {
      const stored = find(version);
      if (stored !== undefined) drop(stored.owner, stored.message, 'removed');
      return stored !== undefined;
    },

    empty(owner: Owner): void {
      for (const message of byOwner.get(owner)?.values() ?? []) drop(owner, message, 'unregistered');
    },
  };
}

function sizeOf(message: PushMessage): number {
  return message.body.byteLength + overheadBytes;
}
