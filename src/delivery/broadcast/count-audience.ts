// How many an audience has before anything is written down.
import { checkExpression } from '../../audience/user-and-tags.ts';
import { hashEndpoint } from '../../protocol/endpoint.ts';
import type { SubscriptionStore } from '../../store/subscriptions.ts';
import { isExpression, type Audience } from './audience.ts';
import type { SubscriptionInput } from '../subscription-input.ts';

/** How many subscriptions there are in it now, each once. */
export async function countAudience(audience: Audience, subscriptions: SubscriptionStore): Promise<number> {
  if (audience === 'all') return subscriptions.count();
  if (isExpression(audience)) return subscriptions.count(checkExpression(audience));
  if ('ids' in audience) return countStored(audience.ids, subscriptions);
  return countEndpoints(audience.subscriptions);
}

async function countStored(
  ids: Iterable<number> | AsyncIterable<number>,
  subscriptions: SubscriptionStore,
): Promise<number> {
  const found = new Set<number>();
  for await (const id of ids) if ((await subscriptions.findById(id)) !== undefined) found.add(id);
  return found.size;
}

/** Digests, since a file may have millions of endpoints of some hundred characters. */
async function countEndpoints(
  list: Iterable<SubscriptionInput> | AsyncIterable<SubscriptionInput>,
): Promise<number> {
  const digests = new Set<string>();
  for await (const { endpoint } of list) digests.add(hashEndpoint(endpoint));
  return digests.size;
}
