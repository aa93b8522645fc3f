// Explains reasons, counts and receipts in the same words wherever they are shown, and says what to do about reasons.
import type { RetryReason } from '../../protocol/outcome.ts';
import type { RejectionReason } from '../../protocol/refusal-reason.ts';
import { type Broadcast, countsDifferReason, type OutcomeGroup } from '../../store/broadcasts.ts';
import { heldDeletionsReason } from '../../store/held-deletions.ts';
import type { LeftOut } from '../../store/split-audience.ts';
import type { ReceiptEvent } from '../../store/receipts.ts';
import { expiredUnsentReason, notListedReason } from '../limits/not-sent.ts';
import { chromeLimitReason } from '../limits/rate-limits.ts';

export interface ReasonMeaning {
  readonly meaning: string;
  /** Empty if there is nothing to do. */
  readonly remedy: string;
}

/** Why a message was not accepted, or why a broadcast raised an alarm. */
export type KnownReason =
  | RetryReason
  | RejectionReason
  | typeof heldDeletionsReason
  | typeof countsDifferReason
  | typeof chromeLimitReason
  | typeof notListedReason
  | typeof expiredUnsentReason;

const meanings: Readonly<Record<KnownReason, ReasonMeaning>> = {
  throttled: {
    meaning: 'The push service asks for fewer messages.',
    remedy: 'Deskbell slows down and tries again.',
  },
  'server-error': { meaning: 'The push service has a fault.', remedy: 'Deskbell tries again.' },
  'not-handled': {
    meaning: 'The push service could not take this request just now.',
    remedy: 'Deskbell tries again.',
  },
  connection: {
    meaning: 'There was no answer: network, TLS or a time-out. A message that was not sent waits.',
    remedy:
      'If this persists, check name resolution, firewall and proxy of this machine with “deskbell doctor”.',
  },
  'sender-fault': {
    meaning: 'Sending failed on this side, for a reason that Deskbell does not know. The messages wait.',
    remedy: 'If this persists, please report it as a fault of Deskbell, with the words of the alarm.',
  },
  'protocol-error': {
    meaning: 'The answer was not valid HTTP.',
    remedy: 'If this persists, look for a proxy between this machine and the push service.',
  },
  deferred: {
    meaning: 'Deskbell sends this push service nothing for a while.',
    remedy: 'Deskbell tries again.',
  },
  'bad-request': {
    meaning: 'The push service does not accept the request.',
    remedy: 'See its reason. If other messages are accepted, the subscription is not a real one.',
  },
  'bad-encryption': {
    meaning: 'The push service does not accept the encryption.',
    remedy: 'If all messages are refused, please report it as a fault of Deskbell.',
  },
  'bad-ttl': { meaning: 'The push service does not accept the TTL.', remedy: 'Choose a shorter one.' },
  'bad-topic': { meaning: 'The push service does not accept the topic.', remedy: 'Choose another one.' },
  'bad-urgency': { meaning: 'The push service does not accept the urgency.', remedy: 'Choose another one.' },
  'cache-policy': {
    meaning: 'Windows’ push service does not store messages with this TTL.',
    remedy: 'Choose a TTL above 0.',
  },
  'vapid-key-mismatch': {
    meaning: 'The subscription was made with another VAPID key.',
    remedy:
      'It is replaced when its page is opened again. If the former key pair still exists, add it with “deskbell keys”.',
  },
  'vapid-refused': {
    meaning: 'The push service refuses our token.',
    remedy:
      'Messages to it wait until it accepts one. Check the subject (Apple requires a real mailto: or https: address) and the clock of this machine.',
  },
  'payload-too-large': { meaning: 'The message is too large for this push service.', remedy: 'Shorten it.' },
  dropped: {
    meaning: 'Windows’ push service took the message and dropped it, because of the device or its user.',
    remedy: '',
  },
  redirected: {
    meaning: 'The push service answered with a redirect, which is never followed.',
    remedy: 'Look for a proxy between this machine and the push service.',
  },
  'address-blocked': {
    meaning: 'The address of the push service is not public. Its messages wait, if it is known or listed.',
    remedy:
      'If a proxy or VPN of this network answers with addresses of its own, allow their range with “pushServiceAddresses”; for NAT64, set “nat64Prefix”. ' +
      'If the push service is your own, add its origin to “pushServices”.',
  },
  'no-value': {
    meaning: 'A placeholder of the message has no default, and the reader has no such value any more.',
    remedy: 'Give the placeholder a default, such as {name|there}.',
  },
  [notListedReason]: {
    meaning:
      'A process that delivers does not list this push service. The messages wait for one that does, until their TTL ends.',
    remedy: 'Add its origin to “pushServices” of every process that delivers, or cancel the broadcast.',
  },
  'unexpected-status': {
    meaning: 'The push service answered with an unexpected status.',
    remedy: 'See its reason, if it gives one.',
  },
  [chromeLimitReason]: {
    meaning:
      'Chrome’s push service limits this site for days, because people dismiss or ignore its messages.',
    remedy:
      'Send less often, and only to people who engage; set “maxRate” to below 1,000 a minute until the limit ends.',
  },
  [expiredUnsentReason]: {
    meaning: 'Messages expired before any of their broadcast was sent.',
    remedy:
      'If the broadcast was paused, or no worker was running, until its TTL was over, send it again. Otherwise the clock is ahead: compare it with “deskbell doctor”, set it, and send the broadcast again.',
  },
  [countsDifferReason]: {
    meaning: 'The counts of the broadcast do not add up to its audience.',
    remedy:
      'If the database has lost its last seconds, a subscription that was deleted then may have been skipped. Otherwise please report it as a fault of Deskbell.',
  },
  [heldDeletionsReason]: {
    meaning: 'The push service calls subscriptions gone and accepts almost nothing. They are kept.',
    remedy: 'If it is right, confirm the deletions; if it has a fault, discard them.',
  },
};

/** @param reason as in `Outcome` and `Alarm`. If it comes from a later version, the result has only empty texts */
export const meaningOf = (reason: string): ReasonMeaning =>
  Object.hasOwn(meanings, reason) ? meanings[reason as KnownReason] : { meaning: '', remedy: '' };

export type CountName = keyof Broadcast['counts'];

/** Meanings of the counts, in display order. The counts add up to the audience. */
export const countMeanings: Readonly<Record<CountName, string>> = {
  accepted: 'the push service took the message',
  gone: 'the push service says that the subscription has ended',
  rejected: 'refused, not retried',
  expired: 'not delivered within the TTL',
  exhausted: 'given up after too many attempts',
  capped: 'not sent: the person was reached often enough',
  doubtful: 'in doubt: sent four times without an answer that can be read, so it may have arrived',
  dormant:
    'waits without the broadcast: nobody has listed the push service, and it does not take the message',
  removed: 'unsubscribed before their turn',
  cancelled: 'never attempted',
  unaccounted: 'what the other counts lack of the audience: a fault of Deskbell',
  pending: 'still to be delivered',
};

/** Explains the count of inactive readers, who are left out. */
export const inactiveMeaning = (skipInactive = 0): string =>
  `inactive: no click on ${lastBroadcasts(skipInactive)} shown to them`;

/** Why readers were left out. For inactive readers, see `inactiveMeaning`. */
export const leftOutMeanings = {
  channelOff: 'have the channel off',
  timePassed: 'their local time was over',
} as const satisfies Partial<Record<LeftOut, string>>;

/** Names of groups of recipients. The name of the broadcast follows. */
export const groupMeanings: Readonly<Record<OutcomeGroup, string>> = {
  accepted: 'those who got',
  missed: 'those who did not get',
  shown: 'those who saw',
  notShown: 'those who got, and are not known to have seen,',
  clicked: 'those who clicked on',
  notClicked: 'those who got, and did not click on,',
  dismissed: 'those who closed',
  gone: 'those said to have ended by',
  rejected: 'those refused by their push service in',
  expired: 'those for whom the TTL ended in',
  exhausted: 'those given up in',
  capped: 'those who had been reached often enough before',
  doubtful: 'those in doubt in',
  dormant: 'those at a push service that nobody has listed in',
  cancelled: 'those left when somebody cancelled',
  inactive: 'those left out as inactive of',
  channelOff: 'those left out, with the channel off, of',
  timePassed: 'those left out, whose local time was over, of',
};

/** For example `the last broadcast` or `the last 10 broadcasts`. */
export const lastBroadcasts = (count: number): string =>
  count === 1 ? 'the last broadcast' : `the last ${count} broadcasts`;

export const countNames = Object.keys(countMeanings) as readonly CountName[];

/** Meanings of receipts, in display order. */
export const receiptMeanings: Readonly<Record<ReceiptEvent, string>> = {
  shown: 'reported: the browser showed the notification',
  clicked: 'reported: the user clicked on it',
  dismissed: 'reported: it was closed without a click',
};
