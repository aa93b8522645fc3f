// The newest broadcasts to a subscription or to the devices of a person, and what came of each.
import { html, type Html } from '../../http/description/html.ts';
import type { Store } from '../../store/store.ts';
import { older } from './components.ts';
import { idField } from './forms.ts';
import { outcomesTable } from './outcomes-table.ts';

const shownBroadcasts = 20;

/**
 * @param url of the page
 * @param query `before`: the broadcast before which to go on
 * @param kept what the address has besides
 */
export async function renderBroadcastsTo(
  subscriptionIds: readonly number[],
  url: string,
  query: unknown,
  { attempts, broadcasts }: Store,
  kept: Readonly<Record<string, string>> = {},
): Promise<Html> {
  const beforeId = idField(query, 'before');
  const { outcomes, next } = await attempts.outcomesTo(subscriptionIds, { beforeId, limit: shownBroadcasts });
  const found = await broadcasts.findAll(outcomes.map(({ broadcastId }) => broadcastId));
  const byId = new Map(found.map((broadcast) => [broadcast.id, broadcast]));
  const none = next === undefined ? 'No broadcast that is still known.' : `No broadcast from ${next} on.`;
  return html`<p class="quiet small">
      Broadcasts, the newest first. Messages to single subscriptions or to one person are not kept.
    </p>
    ${outcomesTable('What came of broadcasts', outcomes, none, byId)}
    ${
      next !== undefined &&
      older(
        url,
        { ...kept, before: String(next) },
        outcomes.length === 0 ? 'Search older broadcasts' : 'Older',
      )
    }`;
}
