// What an action has done, said on the page that it leads to. The address of that page has one of the fixed texts below, a number
// and a time, signed for the session: a link that somebody else has made says nothing.
import { createHmac } from 'node:crypto';
import { countOf } from '../../errors/format-count.ts';
import { html, type Html } from '../../http/description/html.ts';
import { isSameSecret } from '../../protocol/same-secret.ts';
import { time, urlWith } from './components.ts';
import { textField } from './forms.ts';
import type { ConsoleSession } from './sessions.ts';

const texts = {
  paused: (count: number) => `Paused. ${countOf(count, 'message')} will wait until the broadcast is resumed.`,
  resumed: (count: number) => `Resumed. ${countOf(count, 'message')} will be sent.`,
  cancelled: (count: number) => `Cancelled. ${countOf(count, 'message')} will not be sent.`,
  confirmed: (count: number) => `Deleted ${countOf(count, 'subscription')}.`,
  discarded: (count: number) => `Kept ${countOf(count, 'subscription')}.`,
  channelRemoved: () => 'Removed the channel.',
  removed: (count: number) => `Removed ${countOf(count, 'subscription')}.`,
} as const;

export type Deed = keyof typeof texts;

/** The page that says so, once the action was done. */
export function doneUrl(session: ConsoleSession, url: string, deed: Deed, count: number): string {
  const fact = `${deed}.${count}.${Date.now()}`;
  return urlWith(url, { done: `${fact}.${sign(fact, session)}` });
}

/** Nothing where the address says nothing, or was not signed for the session. */
export function renderDone(session: ConsoleSession, query: unknown): Html | false {
  const [, fact = '', deed = '', count, atMs, signature = ''] =
    /^(([a-zA-Z]+)\.(\d{1,15})\.(\d{1,15}))\.([\w-]+)$/.exec(textField(query, 'done')) ?? [];
  if (!isSameSecret(signature, sign(fact, session))) return false;
  return html`<div class="notice good" role="status">
    <p>${texts[deed as Deed](Number(count))} <span class="quiet small">${time(Number(atMs))}</span></p>
  </div>`;
}

const sign = (fact: string, { csrfToken }: ConsoleSession): string =>
  createHmac('sha256', csrfToken).update(`done ${fact}`).digest('base64url');
