// Attempts as a table: when, to whom, and what the push service said.
import { hostOf } from '../../delivery/broadcast/format-broadcast.ts';
import { meaningOf } from '../../delivery/broadcast/reason-meanings.ts';
import { html, type Html } from '../../http/description/html.ts';
import type { AttemptRecord } from '../../store/attempts.ts';
import { badge, untrusted, table, time, type Variant } from './components.ts';
import { subscriptionLink } from './links.ts';

const tones: Readonly<Record<string, Variant>> = { accepted: 'good', rejected: 'bad', retry: 'warn' };

/** @param none said where there is no attempt */
export function attemptsTable(attempts: readonly AttemptRecord[], none: string): Html {
  return table(
    'List of attempts',
    {
      Time: 'short',
      Subscription: 'number',
      'Push service': 'short',
      Outcome: 'short',
      Status: 'number',
      'What it said, and what that means': 'words',
    },
    attempts.map((attempt) => [
      time(attempt.atMs),
      subscriptionLink(attempt.subscriptionId),
      hostOf(attempt.origin),
      html`${badge(attempt.outcome, tones[attempt.outcome])}${attempt.attempt > 1 && ` attempt ${attempt.attempt}`}`,
      attempt.status === undefined ? '' : String(attempt.status),
      renderWords(attempt),
    ]),
    none,
  );
}

/** What a push service said, and what its reason means. Nothing between them: a phone leaves out a cell that is empty. */
export const renderWords = ({ reason, detail }: Pick<AttemptRecord, 'reason' | 'detail'>): Html =>
  html`${detail !== undefined && html`“${untrusted(detail)}” `}${reason !== undefined && (meaningOf(reason).meaning || reason)}`;
