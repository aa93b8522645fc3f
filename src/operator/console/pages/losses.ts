// Subscriptions that were lost in the last 90 days: how many, by push service and by day, why, and which.
import type { FastifyInstance } from 'fastify';
import { html, type Html } from '../../../http/description/html.ts';
import { formatDay, lossMeanings } from '../../../operations/losses.ts';
import { pushServiceName } from '../../../protocol/known-push-services.ts';
import { type Loss, type LossCount, type LossReason, lossReasons } from '../../../store/losses.ts';
import type { OperatorContext } from '../../context.ts';
import { readPage } from '../../searches.ts';
import {
  capitalize,
  card,
  exactTime,
  moreHosts,
  number,
  older,
  searchField,
  searchForm,
  selectField,
  service,
  table,
  untrusted,
  urlWith,
  wide,
} from '../components.ts';
import { figure } from '../figures.ts';
import { type Fields, idField, textFields } from '../forms.ts';
import { sendPage, subscriptionLink } from '../page.ts';
import { personUrl } from './people.ts';

export const lossesUrl = '/console/subscriptions/lost';

const pageRows = 50;
/** The maximum number of hosts to show; the browsers of one vendor may use any number of hosts. */
const shownServices = 20;
/** How many days are shown at first; older days are collapsed. */
const shownDays = 7;

export function addLossesPage(app: FastifyInstance, { store }: OperatorContext): void {
  app.get('/subscriptions/lost', async ({ query }, reply) => {
    const given = textFields(query, ['pushService', 'reason', 'day']);
    const { pushService = '', reason: wanted, day = '' } = given;
    const reason = lossReasons.find((name) => name === wanted);
    const startMs = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(day) : Number.NaN;
    const isOfDay = !Number.isNaN(startMs);
    const ofAll = await store.losses.countByDay();
    const counts = ofAll.filter((count) => !isOfDay || count.startMs === startMs);
    const ofService = counts.filter(
      ({ origin }) => pushService === '' || pushServiceName(origin) === pushServiceName(pushService),
    );
    const { items, next } = await readPage(pageRows, (limit) =>
      store.losses.list({
        reason,
        origins: pushService === '' ? undefined : [...new Set(ofService.map(({ origin }) => origin))],
        ...(isOfDay && { sinceMs: startMs, untilMs: startMs + 24 * 60 * 60 * 1000 }),
        beforeId: idField(query, 'before'),
        limit,
      }),
    );
    return sendPage(reply, {
      title: 'Lost subscriptions',
      entry: 'Subscriptions',
      lead: html`Of the last 90 days, in UTC.
      ${lossReasons.map((name) => html`<em>${capitalize(name)}</em>: ${lossMeanings[name]}. `)}`,
      content: html`
        ${searchForm(lossesUrl, [
          searchField(given, 'pushService', 'Push service'),
          selectField(given, 'reason', 'Why', lossReasons),
          searchField(given, 'day', 'Day (UTC)', html`type="date"`),
        ])}
        ${card('By push service', renderServices(counts, given))}
        ${card('By day', renderDays(ofService, given))}
        <h2 id="each">Each, the newest first</h2>
        ${table('Lost subscriptions', items.map(renderRow), none)} ${older(lossesUrl, given, 'before', next)}
      `,
    });
  });
}

const none = 'No subscription was lost.';

const linkTo = (given: Fields, text: string | Html): Html =>
  html`<a href="${urlWith(lossesUrl, given)}#each">${text}</a>`;

function renderServices(counts: readonly LossCount[], given: Fields): Html {
  const services = [...Map.groupBy(counts, ({ origin }) => pushServiceName(origin))].toSorted(
    ([, one], [, other]) => sumOf(other) - sumOf(one),
  );
  const rows = services.map(([name, same]) => ({
    'Push service': linkTo({ ...given, pushService: name }, service(name)),
    ...renderCounts(same, `${name} ${given['day'] ?? ''}`),
  }));
  return html`${table('Lost by push service', rows.slice(0, shownServices), none)}
  ${moreHosts(rows.length - shownServices)}`;
}

function renderDays(counts: readonly LossCount[], given: Fields): Html {
  const rows = [...Map.groupBy(counts, ({ startMs }) => formatDay(startMs))].map(([day, same]) => ({
    'Day (UTC)': linkTo({ ...given, day }, figure('days.date', day, '', String)),
    ...renderCounts(same, `${day} ${given['pushService'] ?? ''}`),
  }));
  const show = (some: typeof rows) => table('Lost by day', some, none);
  return html`${show(rows.slice(0, shownDays))}
  ${
    rows.length > shownDays &&
    html`<details>
      <summary>Earlier days</summary>
      ${show(rows.slice(shownDays))}
    </details>`
  }`;
}

const sumOf = (counts: readonly LossCount[], reason?: LossReason): number =>
  counts.reduce(
    (sum, count) => sum + (reason === undefined || count.reason === reason ? count.subscriptions : 0),
    0,
  );

/** @param of what all `counts` have in common: the day and the push service */
const renderCounts = (counts: readonly LossCount[], of: string) =>
  Object.fromEntries(
    lossReasons.map((reason) => [
      capitalize(reason),
      number(figure(`losses.${reason}`, sumOf(counts, reason), of.trim())),
    ]),
  );

const renderRow = (loss: Loss) => ({
  Lost: figure('loss.at', loss.atMs, loss.subscriptionId, exactTime),
  Subscription: number(loss.subscriptionId === undefined ? '' : subscriptionLink(loss.subscriptionId)),
  'Push service': service(loss.origin),
  Why: renderReason(loss),
  User: wide(
    loss.user === undefined ? '' : html`<a href="${personUrl(loss.user)}">${untrusted(loss.user)}</a>`,
  ),
});

/** `removed by ada` */
export const renderReason = ({ reason, removedBy, subscriptionId }: Loss): Html =>
  html`${figure('loss.reason', reason, subscriptionId, String)}${removedBy !== undefined && html` by ${untrusted(removedBy)}`}`;
