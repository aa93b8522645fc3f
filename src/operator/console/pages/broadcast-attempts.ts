// The attempts of a broadcast, found by outcome, subscription and user.
import { html, type Html } from '../../../http/description/html.ts';
import { attemptOutcomes } from '../../../store/attempts.ts';
import type { Broadcast } from '../../../store/broadcasts.ts';
import { checkExpression } from '../../../audience/user-and-tags.ts';
import type { Store } from '../../../store/store.ts';
import { attemptsTable } from '../attempts-table.ts';
import { isFiltered, numberField, older, searchField, searchForm, selectField } from '../components.ts';
import { idField, textFields } from '../forms.ts';

const attemptRows = 50;
/** Of one person that are looked at. */
const maxDevices = 20;

export async function renderAttempts({ id }: Broadcast, query: unknown, store: Store): Promise<Html> {
  const given = textFields(query, ['outcome', 'subscription', 'user']);
  const outcome = attemptOutcomes.find((known) => known === given['outcome']);
  const filter = { broadcastId: id, outcome, beforeId: idField(query, 'before'), limit: attemptRows };
  const subscriptionId = idField(query, 'subscription');
  const ids =
    given['user'] === '' || subscriptionId !== undefined
      ? [subscriptionId]
      : await devicesOf(given['user']!, store);
  const found = await Promise.all(
    ids.map((device) => store.attempts.list({ ...filter, subscriptionId: device })),
  );
  const attempts = found
    .flat()
    .sort((one, other) => other.id - one.id)
    .slice(0, attemptRows);
  const last = attempts.length < attemptRows ? undefined : attempts.at(-1);
  return html`<section class="card" aria-labelledby="attempts">
    <h2 id="attempts">Attempts</h2>
    ${searchForm(
      `/console/broadcasts/${id}#attempts`,
      [
        selectField(given, 'outcome', 'Outcome', attemptOutcomes),
        numberField(given, 'subscription', 'Subscription'),
        searchField(given, 'user', 'User'),
      ],
      'Show',
    )}
    ${attemptsTable(attempts, 'subscription', isFiltered(given) ? 'No attempt fits.' : 'No attempt is remembered.')}
    ${last && older(`/console/broadcasts/${id}`, { ...given, before: String(last.id) })}
  </section>`;
}

async function devicesOf(user: string, { subscriptions }: Store): Promise<readonly number[]> {
  const rows = await subscriptions.page({
    afterId: 0,
    limit: maxDevices,
    matching: checkExpression({ user }),
  });
  return rows.map(({ id }) => id);
}
