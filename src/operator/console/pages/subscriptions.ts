// Subscriptions by user, tag, push service and id; and one of them with what was sent to it. Endpoints and keys are never
// shown.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { hostOf } from '../../../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../../../errors/deskbell-error.ts';
import { html, type Html } from '../../../http/description/html.ts';
import { type AudienceExpression, checkExpression } from '../../../audience/user-and-tags.ts';
import { requireSubscription, type StoredSubscription } from '../../../store/subscriptions.ts';
import { findSubscriptions } from '../../find-subscriptions.ts';
import type { OperatorContext } from '../../context.ts';
import { removePerson } from '../../remove-person.ts';
import { sessionOf } from '../require-session.ts';
import { attemptsTable } from '../attempts-table.ts';
import {
  badge,
  card,
  facts,
  notice,
  numberField,
  older,
  searchField,
  searchForm,
  untrusted,
  table,
  time,
  timeFromNow,
  urlWith,
} from '../components.ts';
import { audited, idField, optionalField, textField, textFields, type Fields } from '../forms.ts';
import { toTags } from '../message-form.ts';
import { confirmation, pages, postForm, sendPage } from '../page.ts';
import type { ConsoleSession } from '../sessions.ts';

const pageRows = 50;
const historyRows = 100;

export function addSubscriptionPages(app: FastifyInstance, parts: OperatorContext): void {
  const { store } = parts;

  app.get('/subscriptions', async (request, reply) => {
    const { query } = request;
    const id = idField(query, 'id');
    if (id !== undefined) return reply.redirect(`/console/subscriptions/${id}`, 303);
    const given = textFields(query, Object.keys(filters));
    return sendPage(reply, sessionOf(request), {
      title: 'Subscriptions',
      entry: 'Subscriptions',
      content: html`${renderFilters(given)}
      ${await renderList(given, idField(query, 'after'), parts, sessionOf(request))}`,
    });
  });

  const find = async ({ params }: FastifyRequest): Promise<StoredSubscription> => {
    const id = idField(params, 'id') ?? 0;
    return requireSubscription(await store.subscriptions.findById(id), id);
  };

  app.get('/subscriptions/:id', async (request, reply) => {
    const subscription = await find(request);
    const attempts = await store.attempts.list({ subscriptionId: subscription.id, limit: historyRows });
    return sendPage(reply, sessionOf(request), {
      title: `Subscription ${subscription.id}`,
      entry: 'Subscriptions',
      content: html`
        ${card('What is known of it', renderFacts(subscription))}
        ${card(
          'What broadcasts sent to it',
          attemptsTable(attempts, 'broadcast', 'Nothing that is still remembered.'),
        )}
        ${renderRemoval(subscription, sessionOf(request))}
      `,
    });
  });

  app.post(
    '/subscriptions/:id/remove',
    audited('subscription.remove', ({ params }) => `subscription ${textField(params, 'id')}`),
    async (request, reply) => {
      await store.subscriptions.removeById((await find(request)).id);
      return reply.redirect(pages.Subscriptions, 303);
    },
  );

  app.get('/people/remove', (request, reply) => {
    const user = textField(request.query, 'user');
    return sendPage(reply, sessionOf(request), renderPersonRemoval(user, sessionOf(request)));
  });

  app.post(
    '/people/remove',
    audited('person.remove', ({ body }) => `user ${parts.hashPerson(textField(body, 'user'))}`),
    async (request, reply) => {
      const removed = await removePerson(parts, textField(request.body, 'user'));
      return sendPage(reply, sessionOf(request), {
        title: 'The person was removed',
        entry: 'Subscriptions',
        content: card(
          'What was deleted',
          facts(Object.entries(removed).map(([name, count]) => [name, String(count)] as const)),
        ),
      });
    },
  );
}

const filters = {
  user: 'User',
  tagsAll: 'All of these tags',
  tagsAny: 'One of these tags',
  tagsNone: 'None of these tags',
  pushService: 'Push service',
} as const;

async function renderList(
  given: Fields,
  afterId: number | undefined,
  { store }: OperatorContext,
  session: ConsoleSession,
): Promise<Html> {
  let found: Awaited<ReturnType<typeof findSubscriptions>>;
  try {
    const filter = { matching: readExpression(given), pushService: readOrigin(given['pushService'] ?? '') };
    found = await findSubscriptions(store.subscriptions, filter, { afterId, limit: pageRows });
  } catch (error) {
    if (!(error instanceof DeskbellError)) throw error;
    return notice('bad', 'This cannot be searched for', html`<p>${error.message}</p>`);
  }
  const { subscriptions, nextAfterId } = found;
  const user = given['user'] ?? '';
  return html`
    ${table('Subscriptions', columns, subscriptions.map(renderRow), 'No subscription fits.')}
    ${
      nextAfterId !== undefined &&
      older(
        pages.Subscriptions,
        { ...given, after: String(nextAfterId) },
        subscriptions.length < pageRows ? 'Search further' : 'Next',
      )
    }
    ${
      user !== '' &&
      session.mayChange &&
      html`<p><a href="${urlWith('/console/people/remove', { user })}">Remove this person…</a></p>`
    }
  `;
}

/** @throws {DeskbellError} ERR_FIELD_VALUE for a user or tag that is none */
function readExpression(given: Fields): AudienceExpression | undefined {
  const tags = toTags(given);
  const user = optionalField(given, 'user');
  const isFiltered = user !== undefined || Object.values(tags).some(({ length }) => length > 0);
  return isFiltered ? checkExpression({ user, tags }) : undefined;
}

/** A host, or an origin. */
function readOrigin(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  return URL.parse(trimmed.includes('://') ? trimmed : `https://${trimmed}`)?.origin ?? trimmed;
}

const columns = [
  { title: 'Id', kind: 'number' },
  { title: 'Push service', kind: 'short' },
  { title: 'User', kind: 'words' },
  { title: 'Tags', kind: 'words' },
  { title: 'Since', kind: 'short' },
] as const;

function renderRow(subscription: StoredSubscription): readonly (string | Html)[] {
  const { id, endpoint, createdAtMs } = subscription;
  return [
    html`<a href="/console/subscriptions/${id}">${id}</a>`,
    hostOf(endpoint),
    renderUser(subscription),
    renderTags(subscription),
    time(createdAtMs),
  ];
}

const renderUser = ({ user }: StoredSubscription): Html =>
  user === undefined
    ? html`<span class="quiet">anonymous</span>`
    : html`<a href="${urlWith(pages.Subscriptions, { user })}">${untrusted(user)}</a>`;

const renderTags = ({ tags }: StoredSubscription): Html =>
  html`${tags.map((tag) => html`<a class="badge" href="${urlWith(pages.Subscriptions, { tagsAll: tag })}">${untrusted(tag)}</a> `)}`;

function renderFacts(subscription: StoredSubscription): Html {
  const { endpoint, createdAtMs, updatedAtMs, vapidPublicKey } = subscription;
  return facts([
    ['Push service', hostOf(endpoint)],
    ['User', renderUser(subscription)],
    ['Tags', subscription.tags.length === 0 ? 'none' : renderTags(subscription)],
    ['Since', timeFromNow(createdAtMs)],
    ['Renewed', timeFromNow(updatedAtMs)],
    ['VAPID key', html`<code>${vapidPublicKey.slice(0, 12)}…</code>`],
  ]);
}

function renderRemoval({ id }: StoredSubscription, session: ConsoleSession): Html {
  if (!session.mayChange) return html``;
  return html`<details class="card">
    <summary>Remove this subscription</summary>
    <div class="form">
      <p>The browser gets no more messages until its page registers it again.</p>
      ${postForm(session, `/console/subscriptions/${id}/remove`, `Remove subscription ${id}`, { style: 'danger' })}
    </div>
  </details>`;
}

const renderFilters = (given: Fields): Html =>
  searchForm(pages.Subscriptions, [
    ...Object.entries(filters).map(([name, label]) => searchField(given, name, label)),
    numberField(given, 'id', 'Id'),
  ]);

function renderPersonRemoval(user: string, session: ConsoleSession) {
  return {
    title: 'Remove a person?',
    entry: 'Subscriptions',
    content: confirmation(
      html`All that the database knows of ${badge('user', 'plain')} <strong>${untrusted(user)}</strong> is
        deleted: subscriptions, broadcasts to this person alone, places in lists, attempts. Backups and logs
        are not touched.`,
      postForm(session, '/console/people/remove', 'Remove the person', { style: 'danger', fields: { user } }),
      urlWith(pages.Subscriptions, { user }),
    ),
  } as const;
}
