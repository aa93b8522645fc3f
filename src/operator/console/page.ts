// The frame of every console page: navigation, operator, content, headers, files, and the result of the last action.
import { createHmac } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { escapeControls } from '../../errors/untrusted-text.ts';
import { clientFile, readOnce, sendRepresentation } from '../../http/client-files.ts';
import { html, type Html, htmlText } from '../../http/description/html.ts';
import { isSameSecret } from '../../protocol/bytes.ts';
import { exactTime, notice, time, untrusted, urlWith } from './components.ts';
import { counted, figure, idText } from './figures.ts';
import { type Fields, textField } from './forms.ts';
import { type ConsoleSession, csrfField, sessionOf } from './sessions.ts';

/** Allows only files of this listener, and data URLs for pictures in the preview of a notification. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of every page, errors included. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': contentSecurityPolicy,
  'cross-origin-opener-policy': 'same-origin',
  // With "no-referrer", browsers would send forms with "Origin: null".
  'referrer-policy': 'same-origin',
} as const;

const files = [
  ['/console.css', 'console/console.css'],
  ['/console.js', 'console/console.js'],
  ['/icon.svg', 'demo/icon.svg'],
  // this script shows test messages as notifications
  ['/service-worker.js', 'service-worker.js'],
] as const;

/** Adds the files, which are public: the sign-in page needs them, and they contain no data of this installation. */
export function addFiles(app: FastifyInstance): void {
  for (const [path, file] of files) {
    const readRepresentation = readOnce(clientFile(file));
    app.get(path, { config: { isOpen: true } }, async (request, reply) =>
      sendRepresentation(request, reply, await readRepresentation()),
    );
  }
}

// After an action, the next page says what was done. Its address names one of the fixed texts below, a number and a
// time. The address is signed for the session, so that a link from somebody else shows no message.

const messages = (count: number): string => figure('done.messages', count, '', counted('message'));
const subscriptions = (count: number): string =>
  figure('done.subscriptions', count, '', counted('subscription'));

const texts = {
  paused: (count: number) => `Paused. ${messages(count)} will wait until the broadcast is resumed.`,
  resumed: (count: number) => `Resumed. ${messages(count)} will be sent.`,
  cancelled: (count: number) => `Cancelled. ${messages(count)} will not be sent.`,
  confirmed: (count: number) => `Deleted ${subscriptions(count)}.`,
  discarded: (count: number) => `Kept ${subscriptions(count)}.`,
  channelRemoved: () => 'Removed the channel.',
  bellRemoved: () => 'Removed the bell.',
  scheduleRemoved: () => 'Removed the schedule. Broadcasts that it made stay.',
  removed: (count: number) => `Removed ${subscriptions(count)}.`,
} as const;

export type Deed = keyof typeof texts;

/** Redirects to a page that says what was done. */
export function sendDone(reply: FastifyReply, url: string, deed: Deed, count = 1): FastifyReply {
  const fact = `${deed}.${count}.${Date.now()}`;
  const done = `${fact}.${sign(fact, sessionOf(reply.request))}`;
  return reply.redirect(urlWith(url, { done }), 303);
}

/** Renders what was done, as the URL says. Returns false if the URL says nothing, or is not signed for this session. */
function renderDone(session: ConsoleSession, query: unknown): Html | false {
  const [, fact = '', deed = '', count, atMs, signature = ''] =
    /^(([a-zA-Z]+)\.(\d{1,15})\.(\d{1,15}))\.([\w-]+)$/.exec(textField(query, 'done')) ?? [];
  if (!isSameSecret(signature, sign(fact, session))) return false;
  return html`<div class="notice good" role="status">
    <p>
      ${texts[deed as Deed](Number(count))}
      <span class="quiet small">${figure('done.at', Number(atMs), '', time)}</span>
    </p>
  </div>`;
}

const sign = (fact: string, { csrfToken }: ConsoleSession): string =>
  createHmac('sha256', csrfToken).update(`done ${fact}`).digest('base64url');

/** Pages and their addresses, in navigation order. */
export const pages = {
  Overview: '/console/',
  Broadcasts: '/console/broadcasts',
  Schedules: '/console/schedules',
  Bells: '/console/bells',
  Send: '/console/send',
  Subscriptions: '/console/subscriptions',
  Channels: '/console/channels',
  'Push services': '/console/push-services',
  Keys: '/console/keys',
  Audit: '/console/audit',
} as const;

export type PageName = keyof typeof pages;

/** The address of the page of one broadcast, schedule or subscription. */
export const urlOf = (name: PageName, id: number): string => `${pages[name]}/${id}`;

export interface Page {
  readonly title: string;
  /** The navigation entry to which the page belongs. Default: the entry with the page's title. */
  readonly entry?: PageName | undefined;
  /** Content that is shown beside the title. */
  readonly actions?: Html | false | undefined;
  /** Content that is shown below the title. */
  readonly lead?: string | Html | undefined;
  readonly content: Html;
  /** True if the page is only for changes. Viewers who may only read then get a message instead of the page. */
  readonly isForChange?: boolean;
  /** The URL that the page polls for its live parts. */
  readonly liveUrl?: string | undefined;
  /** Short sentences. Screen readers announce a sentence when it becomes true. */
  readonly status?: readonly string[] | undefined;
}

/** @throws {Error} if nobody is signed in */
export function sendPage(reply: FastifyReply, page: Page): FastifyReply {
  const session = sessionOf(reply.request);
  const { query } = reply.request;
  const done = renderDone(session, query);
  return reply.headers(pageHeaders).send(renderPage(session, page, done, textField(query, 'q')));
}

function renderPage(
  session: ConsoleSession,
  { title, entry, actions, lead, content, isForChange = false, liveUrl, status = [] }: Page,
  done: Html | false,
  sought: string,
): string {
  const now = figure('page.readAt', Date.now(), '', exactTime);
  const current = entry ?? (Object.hasOwn(pages, title) && title);
  return renderDocument(
    title,
    html`<body data-live="${liveUrl ?? ''}" data-status="${escapeControls(JSON.stringify(status))}">
      <a class="skip" href="#main">Skip to the content</a>
      <header class="bar">
        <a class="brand" href="${pages.Overview}">${icon} Deskbell</a>
        <form class="find" method="get" action="/console/search" role="search" aria-label="Everything">
          <input
            type="search"
            name="q"
            placeholder="Search"
            value="${sought}"
            aria-label="Search for a user, an id, the end of an endpoint, or words of a message"
          />
        </form>
        <button type="button" class="menu-button" popovertarget="menu">
          ${current === false ? 'Menu' : html`<span class="quiet">Menu</span> ${current}`}
        </button>
        <div id="menu" class="menu" popover>
          <nav aria-label="Pages">
            <ul>
              ${Object.entries(pages).map(
                ([name, url]) => html`<li>${linkToCurrent(url, name, name === current)}</li>`,
              )}
            </ul>
          </nav>
          <div class="who small">
            <span>
              <span class="quiet">Signed in as</span>
              <strong><bdi>${session.operator.name}</bdi></strong>
              ${!session.mayChange && html`<span class="quiet">(read only)</span>`}
            </span>
            ${postForm(session, '/console/sign-out', 'Sign out', { style: 'small-button' })}
          </div>
        </div>
      </header>
      <main id="main" tabindex="-1">
        <div class="notice warn stale" data-stale hidden></div>
        <div class="head">
          <div>
            <h1>${title}</h1>
            ${lead !== undefined && html`<p class="quiet">${lead}</p>`}
            <p class="quiet small" data-as-of>Figures of ${now}</p>
          </div>
          ${actions}
        </div>
        ${done} ${session.isSealed && sealed}
        ${isForChange && !session.mayChange ? !session.isSealed && readOnly : content}
      </main>
      <div class="announced" role="log" aria-label="Changes" data-announcements></div>
    </body>`,
  );
}

const readOnly = notice(
  'warn',
  'You may look, and change nothing',
  html`<p>Your token has the role “read”.</p>`,
);

const sealed = notice(
  'bad',
  'You may look for 15 minutes, and change nothing',
  html`<p>The database could not be written when you signed in. Sign in again once this is mended.</p>`,
);

/** A page without navigation, for visitors who are not signed in, and for errors. */
export function renderAlone(title: string, content: Html): string {
  return renderDocument(
    title,
    html`<body class="alone" data-live="">
      <main id="main" tabindex="-1">${content}</main>
    </body>`,
  );
}

function renderDocument(title: string, body: Html): string {
  return htmlText(
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <title>${title} · Deskbell</title>
          <link rel="icon" type="image/svg+xml" href="/console/icon.svg" />
          <link rel="stylesheet" href="/console/console.css" />
          <script type="module" src="/console/console.js"></script>
        </head>
        ${body}
      </html> `,
  );
}

/** A page that asks for confirmation; its form goes to the page's own address. */
export interface Question extends Omit<Page, 'content'> {
  readonly consequence: Html;
  readonly button: string;
  readonly style?: string | undefined;
  readonly fields?: Fields;
  /** The page to return to. */
  readonly backUrl: string;
}

export function sendQuestion(
  reply: FastifyReply,
  { consequence, button, style = 'danger', fields, backUrl, ...page }: Question,
): FastifyReply {
  const { request } = reply;
  const form = postForm(sessionOf(request), request.url.split('?')[0]!, button, { style, fields });
  return sendPage(reply, {
    ...page,
    isForChange: true,
    content: html`<section class="card">
      <p>${consequence} This cannot be undone.</p>
      <div class="buttons">${form} <a class="button" href="${backUrl}">Back</a></div>
    </section>`,
  });
}

/** Buttons and links for changes; nothing for viewers who may only read. */
export const changes = ({ mayChange }: ConsoleSession, content: Html): Html =>
  html`${mayChange && html`<div class="buttons">${content}</div>`}`;

/** A link, which is marked as current if it leads to the current page. */
export const linkToCurrent = (url: string, text: string, isCurrent: boolean): Html =>
  html`<a href="${url}" ${isCurrent && html`aria-current="page"`}>${text}</a>`;

/** A button that changes something, with its form. */
export const postForm = (
  session: ConsoleSession,
  url: string,
  button: string,
  { style = '', fields = {} }: { readonly style?: string; readonly fields?: Fields | undefined } = {},
): Html =>
  html`<form method="post" action="${url}">
    ${csrfField(session)}
    ${Object.entries(fields).map(
      ([name, value]) => value !== '' && html`<input type="hidden" name="${name}" value="${value}" />`,
    )}
    <button class="${style}">${button}</button>
  </form>`;

export const icon = html`<img src="/console/icon.svg" alt="" width="28" height="28" />`;

export const renderTags = (tags: readonly string[]): Html =>
  html`${tags.map((tag) => html`<a class="badge" href="${urlWith(pages.Subscriptions, { tagsAll: tag })}">${untrusted(tag)}</a> `)}`;

export const subscriptionLink = (id: number): Html =>
  html`<a href="${urlOf('Subscriptions', id)}">${idText('subscription', id)}</a>`;

export const broadcastLink = (id: number, kind = ''): Html =>
  html`<a href="${urlOf('Broadcasts', id)}">${kind}${idText('broadcast', id)}</a>`;
