// The building blocks of pages. Text from push services, browsers and users of the site must go through `untrusted`.
import { stateOf } from '../../delivery/broadcast/format-broadcast.ts';
import { lookUp } from '../../errors/check-options.ts';
import { escapeControls, escapeProse } from '../../errors/untrusted-text.ts';
import { html, type Html } from '../../http/description/html.ts';
import { pushServiceName } from '../../protocol/known-push-services.ts';
import type { Broadcast } from '../../store/broadcasts.ts';
import { figure } from './figures.ts';
import type { Fields } from './forms.ts';

/** Shows untrusted text with control and invisible characters escaped, isolated from the text around it. */
export const untrusted = (text: string): Html => html`<bdi>${breakable(escapeControls(text))}</bdi>`;

/**
 * A message's title or text as readers see it: emoji joiners are kept, and the first letter sets the writing direction.
 */
export const prose = (text: string): Html => html`<bdi>${escapeProse(text)}</bdi>`;

/** The name of a push service. @param address an origin, an endpoint, or the name */
export const service = (address: string): Html => breakable(pushServiceName(address));

/** Lets a host wrap at its dots. */
const breakable = (text: string): Html =>
  html`${text.split(/(?=\.\w)/).map((part, index) => html`${index > 0 && html`<wbr />`}${part}`)}`;

/** A time to the minute, in UTC until the page's script shows the reader's own zone. */
export const time = (atMs: number): Html => timeElement(atMs, 16);

/** Like `time`. With a script, it also says how long ago the time was, or how far ahead it is. */
export const timeFromNow = (atMs: number): Html => timeElement(atMs, 16, html`data-from-now`);

/** Shows a time to the second. */
export const exactTime = (atMs: number): Html => timeElement(atMs, 19, html`data-exact`);

function timeElement(atMs: number, characters: number, attributes: Html | false = false): Html {
  const iso = new Date(atMs).toISOString();
  return html`<time datetime="${iso}" ${attributes}>${iso.slice(0, characters).replace('T', ' ')} UTC</time>`;
}

export type Variant = 'good' | 'bad' | 'warn' | 'active' | 'plain';

export const badge = (text: string, variant: Variant = 'plain'): Html =>
  html`<span class="badge ${variant}">${text}</span>`;

/** Shows whether a channel is on. */
export const onOff = (isOn: boolean): Html => badge(isOn ? 'on' : 'off', isOn ? 'good' : 'plain');

const stateVariants: Readonly<Record<ReturnType<typeof stateOf>, Variant>> = {
  preparing: 'plain',
  running: 'active',
  scheduled: 'plain',
  paused: 'warn',
  done: 'good',
  cancelled: 'plain',
};

/** A finished broadcast is green if it reached somebody, red if it reached nobody, grey if it had no recipients. */
export function stateBadge(broadcast: Broadcast): Html {
  const { id, recipients, counts } = broadcast;
  return figure('broadcast.state', stateOf(broadcast), id, (state) =>
    state !== 'done' || counts.accepted > 0
      ? badge(state, stateVariants[state])
      : badge('done, reached nobody', recipients === 0 ? 'plain' : 'bad'),
  );
}

/** A notice. Its title is not a heading, so that it fits below headings of any level. */
export const notice = (variant: 'good' | 'warn' | 'bad', title: string, content?: Html): Html =>
  html`<div class="notice ${variant}">
    <p><strong>${title}</strong></p>
    ${content}
  </div>`;

export const empty = (text: string): Html => html`<p class="empty quiet">${text}</p>`;

export function card(heading: string, content: Html, id = idOf(heading)): Html {
  return html`<section class="card" aria-labelledby="${id}">
    <h2 id="${id}">${heading}</h2>
    ${content}
  </section>`;
}

/** A tile with a label, an important figure and an explanation. */
export const tile = (label: string | Html, value: string | Html, note: string | Html): Html =>
  html`<div class="card tile">
    <dt class="quiet small">${label}</dt>
    <dd class="figure">${value}</dd>
    <dd class="quiet small">${note}</dd>
  </div>`;

interface Cell {
  readonly kind: 'number' | 'words';
  readonly content: string | Html;
}

/** A right-aligned cell. */
export const number = (content: string | Html): Cell => ({ kind: 'number', content });

/** A cell with room for a sentence. */
export const wide = (content: string | Html): Cell => ({ kind: 'words', content });

/** A table row: its cells by column title. Text or HTML that is not a cell is shown in one line. */
type Row = Readonly<Record<string, Cell | string | Html>>;

/**
 * @param label name of the table for screen readers
 * @param rows the rows, which must all have the same columns
 * @param none text to show if there are no rows
 */
export function table(label: string, rows: readonly Row[], none = ''): Html {
  const [first] = rows;
  if (first === undefined) return empty(none);
  // The roles are explicit because styles turn rows into lists on phones, which would remove the roles of the table.
  return html`<div class="table" role="group" aria-label="${label}" tabindex="0">
    <table role="table">
      <thead role="rowgroup">
        <tr role="row">
          ${Object.entries(first).map(
            ([title, cell]) =>
              html`<th scope="col" role="columnheader" class="${toCell(cell).kind}">${title}</th>`,
          )}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          (row) =>
            html`<tr role="row">
              ${Object.entries(row).map(renderCell)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

const toCell = (cell: Row[string]): Cell | { readonly kind: 'short'; readonly content: string | Html } =>
  typeof cell === 'object' && 'content' in cell ? cell : { kind: 'short', content: cell };

function renderCell([title, cell]: readonly [string, Row[string]]): Html {
  const { kind, content } = toCell(cell);
  return html`<td role="cell" class="${kind}" data-title="${title}">
    <div>${content}</div>
  </td>`;
}

export const facts = (entries: readonly (readonly [string, string | Html])[]): Html =>
  html`<dl class="facts">
    ${entries.map(
      ([name, value]) =>
        html`<div>
          <dt class="quiet small">${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;

/** Says how many hosts are not shown, if any. */
export const moreHosts = (count: number): Html | false =>
  count > 0 && html`<p class="quiet">and ${figure('more.hosts', count)} more hosts</p>`;

export const isFiltered = (given: Fields): boolean => Object.values(given).some(Boolean);

/** @param label distinguishes the form from others on the page */
export const searchForm = (url: string, fields: readonly Html[], button = 'Search', label = button): Html =>
  html`<form class="filters" method="get" action="${url}" role="search" aria-label="${label}">
    ${fields}
    <button>${button}</button>
  </form>`;

export const searchField = (
  given: Fields,
  name: string,
  label: string | Html,
  attributes = html`type="search"`,
): Html =>
  html`<label
    ><span>${label}</span> <input ${attributes} name="${name}" value="${lookUp(given, name) ?? ''}"
  /></label>`;

export const numberField = (given: Fields, name: string, label: string): Html =>
  searchField(given, name, label, html`type="search" inputmode="numeric"`);

/** A field in which one value or “any” can be chosen. */
export const selectField = (given: Fields, name: string, label: string, values: readonly string[]): Html =>
  html`<label>
    ${label}
    ${select(name, [['', 'any'], ...values.map((value) => [value, value] as const)], lookUp(given, name))}
  </label>`;

/**
 * A link to the next page of a list, with the same filters. Renders nothing on the last page.
 *
 * @param name the name of the parameter that says where the page starts
 */
export const older = (
  url: string,
  query: Query,
  name: 'before' | 'after',
  next: number | undefined,
  text = 'Older',
): Html | false =>
  next !== undefined &&
  html`<a class="button pager" rel="next" href="${urlWith(url, { ...query, [name]: String(next) })}"
    >${text}</a
  >`;

type Query = Readonly<Record<string, string | undefined>>;

export function urlWith(url: string, query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const text = new URLSearchParams(given).toString();
  return text === '' ? url : `${url}?${text}`;
}

export const select = (
  name: string,
  options: readonly (readonly [value: string, text: string])[],
  chosen = '',
  attributes: Html | false = false,
): Html =>
  html`<select name="${name}" ${attributes}>
    ${options.map(
      ([value, text]) =>
        html`<option value="${value}" ${value === chosen && html`selected`}>${escapeControls(text)}</option>`,
    )}
  </select>`;

/** The id of a live part, which never equals the id of a heading. */
export const liveId = (name: string): string => `live-${name}`;

/** A part of a page that is replaced when it changes. */
export const live = (name: string, content: Html): Html =>
  html`<div id="${liveId(name)}" class="live">${content}</div>`;

/** Capitalises a word for a heading: `accepted` becomes `Accepted`. */
export const capitalize = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

const idOf = (heading: string): string => heading.toLowerCase().replaceAll(/[^a-z]+/g, '-');
