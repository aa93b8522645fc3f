// All broadcasts, newest first, with a search by words, state and time.
import type { FastifyInstance } from 'fastify';
import { readAlarms } from '../../../delivery/alarms/read-alarms.ts';
import { html, type Html } from '../../../http/description/html.ts';
import { bellOf, type BroadcastFilter, searchBroadcasts } from '../../searches.ts';
import type { Broadcast, OpenBroadcasts } from '../../../store/broadcasts.ts';
import { broadcastStates } from '../../../operations/broadcasts.ts';
import type { OperatorContext } from '../../context.ts';
import { sessionOf } from '../sessions.ts';
import { progressBar } from '../charts.ts';
import {
  badge,
  capitalize,
  isFiltered,
  number,
  older,
  searchField,
  searchForm,
  selectField,
  stateBadge,
  table,
  tile,
  time,
  untrusted,
  urlWith,
  wide,
} from '../components.ts';
import { figure, figuresOf, idText } from '../figures.ts';
import { idField, optionalField, textField, textFields, type Fields } from '../forms.ts';
import { dayFields, readDays, toInterval } from '../local-time-input.ts';
import { outcomesOf } from '../preview.ts';
import { changes, pages, sendPage, urlOf } from '../page.ts';
import { titleOf } from '../outcomes-table.ts';

const pageRows = 25;

export function addBroadcastsPage(app: FastifyInstance, { store, readWarnings }: OperatorContext): void {
  app.get('/broadcasts', async (request, reply) => {
    const { query } = request;
    const session = sessionOf(request);
    const beforeId = idField(query, 'before');
    const filter = readFilter(query);
    const range = { beforeId, limit: pageRows, foldsBells: filter.bell === undefined };
    const [{ items, folded, next }, { standing }] = await Promise.all([
      searchBroadcasts(store.broadcasts, filter, range),
      readAlarms(store, readWarnings),
    ]);
    const alarmed = new Set(
      standing.flatMap(({ rank, broadcastIds }) => (rank === 'note' ? [] : broadcastIds)),
    );
    const given = { ...textFields(query, ['text', 'state', 'bell']), ...readDays(query) };
    const isSearch = isFiltered({ ...given, zone: '' }) || beforeId !== undefined;
    return sendPage(reply, {
      title: 'Broadcasts',
      lead: html`What was sent, by <a href="${pages.Bells}">bells</a> too.`,
      actions: changes(session, html`<a class="button primary" href="${pages.Send}">Send a message</a>`),
      content: html`
        ${renderCounts(await store.broadcasts.countOpen())} ${renderFilters(given)}
        ${table(
          'Broadcasts',
          items.map((broadcast) => renderRow(broadcast, alarmed.has(broadcast.id), folded.get(broadcast.id))),
          isSearch ? 'No broadcast fits.' : 'Nothing has been broadcast yet.',
        )}
        ${older(pages.Broadcasts, given, 'before', next, items.length < pageRows ? 'Search older broadcasts' : 'Older')}
      `,
    });
  });
}

const openStates = {
  running: 'being delivered',
  scheduled: 'their start is to come',
  paused: 'nothing is sent until they are resumed',
  preparing: 'their audience is being looked for',
} as const satisfies Record<keyof OpenBroadcasts, string>;

/** Shows how many broadcasts are unfinished, including broadcasts that the list leaves out. */
const renderCounts = (counts: OpenBroadcasts): Html =>
  html`<dl class="tiles">
    ${Object.entries(openStates).map(([state, meaning]) =>
      tile(
        html`<a href="${urlWith(pages.Broadcasts, { state })}">${capitalize(state)}</a>`,
        figure(`open.${state}`, counts[state as keyof OpenBroadcasts]),
        meaning,
      ),
    )}
  </dl>`;

/** @param isAlarmed whether an alarm that the broadcast raised is still active
 * @param folded how many older broadcasts of the same bell are not shown */
function renderRow(broadcast: Broadcast, isAlarmed: boolean, folded = 0) {
  const { id, recipients, alarms, startAtMs } = broadcast;
  const shown = figuresOf('broadcast', id);
  return {
    Id: number(idText('broadcast', id)),
    Message: wide(
      html`<a href="${urlOf('Broadcasts', id)}">${titleOf(broadcast)}</a>
        ${folded > 0 && renderFolded(broadcast, folded)}`,
    ),
    State: html`${stateBadge(broadcast)}
    ${alarms.length > 0 && shown('isAlarmed', Number(isAlarmed), (is) => badge('alarm', is === 1 ? 'bad' : 'plain'))}`,
    Recipients: number(shown('recipients', recipients)),
    Outcome: wide(html`${progressBar(broadcast)} ${outcomesOf(broadcast)}`),
    Start: shown('startAt', startAtMs, time),
  };
}

function renderFolded(broadcast: Broadcast, count: number): Html {
  const bell = bellOf(broadcast)!;
  return html`<div class="small">
    <a href="${urlWith(pages.Broadcasts, { bell })}">and ${figure('bell.folded', count, bell)} more</a> of the
    bell ${untrusted(bell)}
  </div>`;
}

const renderFilters = (given: Fields): Html =>
  searchForm(pages.Broadcasts, [
    searchField(given, 'text', 'Words'),
    ...(given['bell'] ? [searchField(given, 'bell', 'Bell')] : []),
    selectField(given, 'state', 'State', broadcastStates),
    ...dayFields(given, 'Started from'),
  ]);

function readFilter(query: unknown): BroadcastFilter {
  const state = textField(query, 'state');
  return {
    text: textField(query, 'text'),
    bell: optionalField(query, 'bell'),
    state: broadcastStates.find((known) => known === state),
    ...toInterval(readDays(query)),
  };
}
