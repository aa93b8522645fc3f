// The audit: what operators have changed, newest first, by operator, action and time.
import type { FastifyInstance } from 'fastify';
import { html, type Html } from '../../../http/description/html.ts';
import type { AuditRecord } from '../../../store/audit.ts';
import type { OperatorContext } from '../../context.ts';
import { readPage } from '../../list-page.ts';
import {
  badge,
  isFiltered,
  older,
  searchField,
  searchForm,
  table,
  time,
  untrusted,
  urlWith,
} from '../components.ts';
import { idField, textFields, type Fields } from '../forms.ts';
import { dayFields, readDays, toInterval } from '../local-time-input.ts';
import { pages, sendPage } from '../page.ts';
import { lookUp } from '../../../errors/look-up.ts';

const pageRows = 50;
const maxNameCharacters = 200;

export function addAuditPage(app: FastifyInstance, { store }: OperatorContext): void {
  app.get('/audit', async (request, reply) => {
    const { query } = request;
    const days = readDays(query);
    const given = { ...readNames(query), ...days };
    const beforeId = idField(query, 'before');
    const filter = {
      operator: given['operator'] || undefined,
      action: given['action'] || undefined,
      ...toInterval(days),
      beforeId,
    };
    const { items, next } = await readPage(pageRows, (limit) => store.audit.list({ ...filter, limit }));
    const isSearch = isFiltered({ ...given, zone: '' }) || beforeId !== undefined;
    return sendPage(reply, {
      title: 'Audit',
      lead: html`<p class="quiet">
        What operators have changed by API, console and commands, newest first. Commands that send, import or
        tag, and those on keys, operators and the store as a whole, leave no record.
      </p>`,
      content: html`
        ${searchForm(pages.Audit, [
          searchField(given, 'operator', 'Operator'),
          searchField(given, 'action', 'Action'),
          ...dayFields(days, 'From'),
        ])}
        ${table(
          'Changes',
          columns,
          items.map((record) => renderRow(record, given)),
          isSearch ? 'No change fits.' : 'Nothing has been changed yet.',
        )}
        ${next !== undefined && older(pages.Audit, { ...given, before: String(next) })}
      `,
    });
  });
}

/** Cut: each row repeats them in its links, and no operator or action has a longer name. */
const readNames = (query: unknown): Fields =>
  Object.fromEntries(
    Object.entries(textFields(query, ['operator', 'action'])).map(([name, text]) => [
      name,
      text.slice(0, maxNameCharacters),
    ]),
  );

const columns = {
  Time: 'short',
  Operator: 'short',
  Action: 'short',
  'To what': 'words',
  Result: 'short',
} as const;

/** Operator and action lead to all that are the same, within the other filters. */
function renderRow(
  { atMs, operator, action, target, status }: AuditRecord,
  given: Fields,
): readonly (string | Html)[] {
  const filter = (name: string, value: string): Html =>
    html`<a href="${urlWith(pages.Audit, { ...given, [name]: value })}">${untrusted(value)}</a>`;
  return [
    time(atMs),
    filter('operator', operator),
    filter('action', action),
    linkTarget(target),
    renderStatus(status),
  ];
}

/** Things that have a page of their own. */
const targetPages: Readonly<Record<string, string>> = {
  broadcast: pages.Broadcasts,
  subscription: pages.Subscriptions,
  schedule: pages.Schedules,
};

function linkTarget(target = ''): Html {
  const [, kind = '', id] = /^(\w+) (\d+)$/.exec(target) ?? [];
  const page = lookUp(targetPages, kind);
  return page === undefined ? untrusted(target) : html`<a href="${page}/${id}">${target}</a>`;
}

function renderStatus(status: number | undefined): Html {
  if (status === undefined) return badge('no answer', 'warn');
  const said = status < 400 ? badge('done', 'good') : badge(status < 500 ? 'refused' : 'failed', 'bad');
  return html`${said} <span class="quiet small">${status}</span>`;
}
