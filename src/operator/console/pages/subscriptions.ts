// Subscriptions by user, tag, push service and id; and one of them with what was sent to it. Endpoints and keys are never
// shown.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { hostOf } from '../../../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../../../errors/deskbell-error.ts';
import { html, type Html } from '../../../http/description/html.ts';
import { type AudienceExpression, checkExpression } from '../../../audience/user-and-tags.ts';
import type { StoredSubscription } from '../../../store/subscriptions.ts';
import { findSubscriptions } from '../../find-subscriptions.ts';
import type { OperatorContext } from '../../context.ts';
import { removePerson } from '../../remove-person.ts';
import { sessionOf } from '../require-session.ts';
import { attemptsTable } from '../attempts-table.ts';
import {
  badge,
  card,
  empty,
  facts,
  notice,
  noHtml,
  older,
  untrusted,
  table,
  time,
  urlWith,
} from '../components.ts';
import { idField, optionalField, textField } from '../forms.ts';
import { toList } from '../message-form.ts';
import { csrfField, pages, sendPage } from '../page.ts';
import type { ConsoleSession } from '../sessions.ts';

const pageRows = 50;
const historyRows = 100;

export function addSubscriptionPages(app: FastifyInstance, parts: OperatorContext): void {
  const { store } = parts;

  app.get('/subscriptions', async (request, reply) => {
    const { query } = request;
    const id = idField(query, 'id');
    if (id !== undefined) return reply.redirect(`/console/subscriptions/${id}`, 303);
    const given = Object.fromEntries(filterNames.map((name) => [name, textField(query, name)]));
    return sendPage(reply, sessionOf(request), {
      title: 'Subscriptions',
      entry: 'Subscriptions',
      content: html`${renderFilters(given)}
      ${await renderList(given, idField(query, 'after'), parts, sessionOf(request))}`,
    });
  });

  const find = async ({ params }: FastifyRequest): Promise<StoredSubscription> => {
    const found = await store.subscriptions.findById(idField(params, 'id') ?? 0);
    if (found !== undefined) return found;
    throw new DeskbellError('ERR_SUBSCRIPTION_NOT_FOUND', 'There is no subscription with this id.');
  };

  app.get('/subscriptions/:id', async (request, reply) => {
    const subscription = await find(request);
    const attempts = await store.broadcasts.attempts({ subscriptionId: subscription.id, limit: historyRows });
    return sendPage(reply, sessionOf(request), {
      title: `Subscription ${subscription.id}`,
      entry: 'Subscriptions',
      content: html`
        ${card('What is known of it', renderFacts(subscription))}
        ${card(
          'What broadcasts sent to it',
          attempts.length === 0
            ? empty('Nothing that is still remembered.')
            : attemptsTable(attempts, 'broadcast'),
        )}
        ${renderRemoval(subscription, sessionOf(request))}
      `,
    });
  });

  app.post(
    '/subscriptions/:id/remove',
    {
      config: {
        audit: {
          action: 'subscription.remove',
          target: ({ params }) => `subscription ${(params as { readonly id: string }).id}`,
        },
      },
    },
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
    {
      config: {
        audit: {
          action: 'person.remove',
          target: ({ body }) => `user ${parts.hashPerson(textField(body, 'user'))}`,
        },
      },
    },
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

const filterNames = ['user', 'tagsAll', 'tagsAny', 'tagsNone', 'pushService'] as const;

type Given = Readonly<Record<string, string>>;

async function renderList(
  given: Given,
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
    return notice('bad', 'This cannot be searched for', html`${error.message}`);
  }
  const { subscriptions, nextAfterId } = found;
  const user = given['user'] ?? '';
  return html`
    ${subscriptions.length === 0 ? empty('No subscription fits.') : table('Subscriptions', columns, subscriptions.map(renderRow))}
    ${
      nextAfterId === undefined
        ? noHtml
        : older(
            pages.Subscriptions,
            { ...given, after: String(nextAfterId) },
            subscriptions.length < pageRows ? 'Search further' : 'Next',
          )
    }
    ${
      user !== '' && session.mayChange
        ? html`<p>
            <a href="${urlWith('/console/people/remove', { user })}">Remove this person…</a>
          </p>`
        : noHtml
    }
  `;
}

/** @throws {DeskbellError} ERR_FIELD_VALUE for a user or tag that is none */
function readExpression(given: Given): AudienceExpression | undefined {
  const tags = {
    all: toList(given, 'tagsAll'),
    any: toList(given, 'tagsAny'),
    none: toList(given, 'tagsNone'),
  };
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
    ['Since', time(createdAtMs)],
    ['Renewed', time(updatedAtMs)],
    ['VAPID key', html`<code>${vapidPublicKey.slice(0, 12)}…</code>`],
  ]);
}

function renderRemoval({ id }: StoredSubscription, session: ConsoleSession): Html {
  if (!session.mayChange) return html``;
  return html`<details class="card">
    <summary>Remove this subscription</summary>
    <div class="form">
      <p>The browser gets no more messages until its page registers it again.</p>
      <form method="post" action="/console/subscriptions/${id}/remove">
        ${csrfField(session)}<button class="danger">Remove subscription ${id}</button>
      </form>
    </div>
  </details>`;
}

const renderFilters = (given: Given): Html => html`
  <form class="filters" method="get" action="${pages.Subscriptions}" role="search">
    ${(
      [
        ['user', 'User'],
        ['tagsAll', 'All of these tags'],
        ['tagsAny', 'One of these tags'],
        ['tagsNone', 'None of these tags'],
        ['pushService', 'Push service'],
      ] as const
    ).map(
      ([name, label]) =>
        html`<label>${label} <input type="search" name="${name}" value="${given[name] ?? ''}" /></label>`,
    )}
    <label>Id <input type="search" name="id" inputmode="numeric" /></label>
    <button>Search</button>
  </form>
`;

function renderPersonRemoval(user: string, session: ConsoleSession) {
  return {
    title: 'Remove a person?',
    entry: 'Subscriptions',
    content: html`<section class="card">
      <p>
        All that the database knows of ${badge('user', 'plain')} <strong>${untrusted(user)}</strong> is
        deleted: subscriptions, broadcasts to this person alone, places in lists, attempts. This cannot be
        undone. Backups and logs are not touched.
      </p>
      <div class="buttons">
        <form method="post" action="/console/people/remove">
          ${csrfField(session)} <input type="hidden" name="user" value="${user}" />
          <button class="danger">Remove the person</button>
        </form>
        <a class="button" href="${urlWith(pages.Subscriptions, { user })}">Back</a>
      </div>
    </section>`,
  } as const;
}
