// The audit (changes by operators, newest first), and the VAPID public keys with their numbers of subscriptions. Only
// commands can change keys, because private keys stay with the command line.
import type { FastifyInstance } from 'fastify';
import { lookUp } from '../../../errors/check-options.ts';
import { html, type Html } from '../../../http/description/html.ts';
import { findAppleSubjectFault } from '../../../protocol/vapid.ts';
import type { AuditRecord } from '../../../store/operators.ts';
import type { StoredSenderReport } from '../../../store/sending.ts';
import type { VapidKeyState } from '../../../store/vapid-keys.ts';
import type { OperatorContext } from '../../context.ts';
import { readPage } from '../../searches.ts';
import {
  badge,
  card,
  isFiltered,
  number,
  older,
  searchField,
  searchForm,
  table,
  time,
  untrusted,
  urlWith,
  type Variant,
  wide,
} from '../components.ts';
import { figure } from '../figures.ts';
import { type Fields, idField, textFields } from '../forms.ts';
import { dayFields, readDays, toInterval } from '../local-time-input.ts';
import { pages, sendPage } from '../page.ts';

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
      target: given['target'] || undefined,
      ...toInterval(days),
      beforeId,
    };
    const { items, next } = await readPage(pageRows, (limit) => store.audit.list({ ...filter, limit }));
    const isSearch = isFiltered({ ...given, zone: '' }) || beforeId !== undefined;
    return sendPage(reply, {
      title: 'Audit',
      lead: html`What operators have changed by API, console and commands, newest first. Commands that send or
      import, and those on keys, operators and the store as a whole, leave no record.`,
      content: html`
        ${searchForm(pages.Audit, [
          searchField(given, 'operator', 'Operator'),
          searchField(given, 'action', 'Action'),
          searchField(given, 'target', 'To what'),
          ...dayFields(days, 'From'),
        ])}
        ${table(
          'Changes',
          items.map((record) => renderRow(record, given)),
          isSearch ? 'No change fits.' : 'Nothing has been changed yet.',
        )}
        ${older(pages.Audit, given, 'before', next)}
      `,
    });
  });
}

/** Reads the filters. Names are truncated, because each row repeats them in links. Real names are never longer. */
const readNames = (query: unknown): Fields =>
  Object.fromEntries(
    Object.entries(textFields(query, ['operator', 'action', 'target'])).map(([name, text]) => [
      name,
      text.slice(0, maxNameCharacters),
    ]),
  );

/** Renders a record. The operator and the action are links that filter the list by their value. */
function renderRow({ id, atMs, operator, action, target, status }: AuditRecord, given: Fields) {
  const filter = (name: string, value: string): Html =>
    html`<a href="${urlWith(pages.Audit, { ...given, [name]: value })}">${untrusted(value)}</a>`;
  return {
    Time: figure('audit.at', atMs, id, time),
    Operator: filter('operator', operator),
    Action: filter('action', action),
    'To what': wide(linkTarget(target)),
    Result: figure('audit.status', status ?? 0, id, renderStatus),
  };
}

const targetPages: Readonly<Record<string, string>> = {
  broadcast: pages.Broadcasts,
  subscription: pages.Subscriptions,
  schedule: pages.Schedules,
};

function linkTarget(target = ''): Html {
  const [, kind = '', id] = /^(\w+) (\d+)$/.exec(target) ?? [];
  const page = lookUp(targetPages, kind);
  return page === undefined ? untrusted(target) : html`<a href="${page}/${id}">${untrusted(target)}</a>`;
}

/** @param status 0 if the status is not known */
function renderStatus(status: number): Html {
  if (status === 0) return badge('no answer', 'warn');
  const said = status < 400 ? badge('done', 'good') : badge(status < 500 ? 'refused' : 'failed', 'bad');
  return html`${said} <span class="quiet small">${String(status)}</span>`;
}

const states: Readonly<Record<VapidKeyState | 'foreign', readonly [tone: Variant, meaning: string]>> = {
  next: ['active', 'Senders can sign with it; browsers are not offered it yet.'],
  current: ['good', 'Browsers subscribe with it.'],
  previous: ['plain', 'Signs for the subscriptions that were made with it.'],
  retired: ['plain', 'Its private half is removed.'],
  foreign: ['warn', 'Subscriptions name it, and it was never one of ours: nothing can be sent to them.'],
};

export function addKeysPage(app: FastifyInstance, { store }: OperatorContext): void {
  app.get('/keys', async (_request, reply) => {
    const [keys, counts, senders] = await Promise.all([
      store.vapidKeys.list(),
      store.vapidKeys.countSubscriptions(),
      store.senders.list(),
    ]);
    const rows = keys.map(({ publicKey, state: known }) => {
      const [tone, meaning] = states[known ?? 'foreign'];
      return {
        State: badge(known ?? 'foreign', tone),
        'Public key': wide(html`<code>${publicKey}</code>`),
        Subscriptions: number(figure('key.subscriptions', counts.get(publicKey) ?? 0, publicKey)),
        Meaning: wide(meaning),
      };
    });
    return sendPage(reply, {
      title: 'Keys',
      lead: html`A subscription belongs to the VAPID key that its browser subscribed with; only that key pair
      can send to it.`,
      content: html`
        ${table('VAPID keys', rows, 'There is no key yet.')}
        ${card('Contact (subject)', renderContacts(senders))}
        ${card(
          'Changing keys',
          html`<p>
              Private keys are on the server alone, so these are commands there, while everything runs:
            </p>
            <pre>
deskbell keys rotate                 # makes a new pair current; nobody is lost
deskbell keys list                   # what each pair still signs for
deskbell keys retire PUBLIC-KEY      # removes a private half once nobody needs it</pre>`,
        )}
      `,
    });
  });
}

function renderContacts(senders: readonly StoredSenderReport[]): Html {
  const bySubject = Map.groupBy(
    senders.filter(({ subject }) => subject !== undefined),
    ({ subject }) => subject!,
  );
  return html`<p>
      Push services find it in each request, and may write there. Apple refuses all messages if its domain
      cannot exist.
    </p>
    ${table(
      'Contacts',
      Array.from(bySubject, ([subject, same]) => {
        const fault = findAppleSubjectFault(subject);
        const names = same.map(({ machine, processId }) => `${machine}, process ${processId}`);
        return {
          Contact: wide(untrusted(subject)),
          'Named by': wide(untrusted([...new Set(names)].join('; '))),
          Apple: wide(
            fault === undefined
              ? badge('takes it', 'good')
              : html`${badge('refuses it', 'bad')} <span class="quiet">${fault}</span>`,
          ),
        };
      }),
      'No process is sending now. Each names the contact that it is started with: --subject, or “subject” in its configuration.',
    )}`;
}
