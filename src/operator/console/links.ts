// Tags as links to the subscriptions that have them, and ids of subscriptions as links to their pages.
import { html, type Html } from '../../http/description/html.ts';
import { untrusted, urlWith } from './components.ts';
import { pages } from './page.ts';

export const renderTags = (tags: readonly string[]): Html =>
  html`${tags.map((tag) => html`<a class="badge" href="${urlWith(pages.Subscriptions, { tagsAll: tag })}">${untrusted(tag)}</a> `)}`;

export const subscriptionLink = (id: number): Html => html`<a href="${pages.Subscriptions}/${id}">${id}</a>`;
