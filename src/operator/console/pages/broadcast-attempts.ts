// The attempts of a broadcast, found by outcome, subscription and user.
import { html, type Html } from '../../../http/description/html.ts';
import type { Broadcast } from '../../../store/broadcasts.ts';
import { checkExpression } from '../../../audience/user-and-tags.ts';
import type { Store } from '../../../store/store.ts';
import { attemptsTable } from '../attempts-table.ts';
import { empty, noHtml, older, select } from '../components.ts';
import { idField, textField } from '../forms.ts';

const attemptRows = 50;
/** Of one person that are looked at. */
const maxDevices = 20;

export async function renderAttempts({ id }: Broadcast, query: unknown, store: Store): Promise<Html> {
  const given = Object.fromEntries(
    ['outcome', 'subscription', 'user'].map((name) => [name, textField(query, name)]),
  );
  const outcome = outcomes.find((known) => known === given['outcome']);
  const filter = { broadcastId: id, outcome, beforeId: idField(query, 'before'), limit: attemptRows };
  const subscriptionId = idField(query, 'subscription');
  const ids =
    given['user'] === '' || subscriptionId !== undefined
      ? [subscriptionId]
      : await devicesOf(given['user']!, store);
  const found = await Promise.all(
    ids.map((device) => store.broadcasts.attempts({ ...filter, subscriptionId: device })),
  );
  const attempts = found
    .flat()
    .sort((one, other) => other.id - one.id)
    .slice(0, attemptRows);
  const isFiltered = Object.values(given).some((value) => value !== '');
  return html`<section class="card" aria-labelledby="attempts">
    <h2 id="attempts">Attempts</h2>
    <form class="filters" method="get" action="/console/broadcasts/${id}#attempts" role="search">
      <label>
        Outcome
        ${select('outcome', [['', 'any'], ...outcomes.map((name) => [name, name] as const)], outcome ?? '')}
      </label>
      <label>
        Subscription
        <input type="search" name="subscription" inputmode="numeric" value="${given['subscription'] ?? ''}" />
      </label>
      <label>User <input type="search" name="user" value="${given['user'] ?? ''}" /></label>
      <button>Show</button>
    </form>
    ${
      attempts.length > 0
        ? attemptsTable(attempts, 'subscription')
        : empty(isFiltered ? 'No attempt fits.' : 'No attempt is remembered.')
    }
    ${
      attempts.length < attemptRows
        ? noHtml
        : older(`/console/broadcasts/${id}`, { ...given, before: String(attempts.at(-1)!.id) })
    }
    <p class="quiet small">
      Of each broadcast, a thousand accepted attempts and ten thousand others are remembered, of the newest
      hundred broadcasts.
    </p>
  </section>`;
}

const outcomes = ['accepted', 'gone', 'rejected', 'retry'] as const;

async function devicesOf(user: string, { subscriptions }: Store): Promise<readonly number[]> {
  const rows = await subscriptions.page({
    afterId: 0,
    limit: maxDevices,
    matching: checkExpression({ user }),
  });
  return rows.map(({ id }) => id);
}
