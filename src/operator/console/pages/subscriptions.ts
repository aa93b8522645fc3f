// Searches subscriptions by user, tag, push service and id, and shows each on a page with the outcomes of its
// broadcasts. Endpoints and keys are never shown.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { byPushService } from '../../../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../../../errors/deskbell-error.ts';
import { html, type Html } from '../../../http/description/html.ts';
import { type AudienceExpression, checkExpression } from '../../../audience/user-and-tags.ts';
import { requireSubscription, type StoredSubscription } from '../../../store/subscriptions.ts';
import { findSubscriptions } from '../../searches.ts';
import { removeSubscription } from '../../../operations/subscriptions.ts';
import type { OperatorContext } from '../../context.ts';
import { sessionOf } from '../sessions.ts';
import { renderBroadcastsTo } from '../outcomes-table.ts';
import {
  card,
  facts,
  notice,
  number,
  numberField,
  older,
  searchField,
  searchForm,
  service,
  table,
  time,
  timeFromNow,
  untrusted,
  wide,
} from '../components.ts';
import {
  changes,
  pages,
  type Question,
  renderTags,
  sendDone,
  sendPage,
  sendQuestion,
  subscriptionLink,
} from '../page.ts';
import { figure, figuresOf, idText } from '../figures.ts';
import { audited, idField, optionalField, subscriptionField, textFields, type Fields } from '../forms.ts';
import { toTags } from '../message-form.ts';
import { renderOwnChoices } from '../person-data.ts';
import type { Loss } from '../../../store/losses.ts';
import { lossesUrl, renderReason } from './losses.ts';
import { personUrl } from './people.ts';

const pageRows = 50;

export function addSubscriptionPages(app: FastifyInstance, parts: OperatorContext): void {
  const { store } = parts;

  app.get('/subscriptions', async (request, reply) => {
    const { query } = request;
    const id = idField(query, 'id');
    if (id !== undefined) return reply.redirect(`/console/subscriptions/${id}`, 303);
    const given = textFields(query, [...Object.keys(filters), 'id']);
    return sendPage(reply, {
      title: 'Subscriptions',
      actions: html`<div class="buttons">
        <a class="button" href="/console/subscriptions/visits">Last visits</a>
        <a class="button" href="${lossesUrl}">Lost</a>
      </div>`,
      content: html`${renderFilters(given)} ${await renderList(given, idField(query, 'after'), parts)}`,
    });
  });

  app.get('/subscriptions/visits', async (_request, reply) => {
    const counts = await store.visits.count();
    return sendPage(reply, {
      title: 'Last visits',
      entry: 'Subscriptions',
      lead: html`Subscriptions by the last page load of their browser. Those that were imported count apart
      until their browser has been here.`,
      content: table(
        'Last visits',
        byPushService(counts.map(({ pushService: origin, visits }) => ({ origin, ...visits }))).map(
          ({ origin, ...visits }) => ({
            'Push service': service(origin),
            '7 days': number(figure('visits.within7Days', visits.within7Days, origin)),
            '30 days': number(figure('visits.within30Days', visits.within30Days, origin)),
            '90 days': number(figure('visits.within90Days', visits.within90Days, origin)),
            'Longer ago': number(figure('visits.longerAgo', visits.longerAgo, origin)),
            'Not since the import': number(figure('visits.notSinceImport', visits.notSinceImport, origin)),
          }),
        ),
        'No subscriptions yet.',
      ),
    });
  });

  const find = async ({ params }: FastifyRequest): Promise<StoredSubscription> => {
    const id = idField(params, 'id') ?? 0;
    return requireSubscription(await store.subscriptions.findById(id), id);
  };

  app.get('/subscriptions/:id', async (request, reply) => {
    const id = idField(request.params, 'id') ?? 0;
    const url = `/console/subscriptions/${id}`;
    const subscription = await store.subscriptions.findById(id);
    // if the subscription has ended, the store has only a record of its loss
    const [loss] = subscription ? [] : await store.losses.list({ subscriptionId: id, limit: 1 });
    const isKnown =
      subscription !== undefined ||
      loss !== undefined ||
      (await store.attempts.outcomesTo([id], { limit: 1 })).outcomes.length > 0;
    if (!isKnown) requireSubscription(subscription, id);
    return sendPage(reply, {
      title: `Subscription ${idText('subscription', id)}`,
      entry: 'Subscriptions',
      content: html`
        ${card(
          'What is known of it',
          subscription === undefined ? renderLoss(loss) : renderFacts(subscription),
        )}
        ${card('Broadcasts', await renderBroadcastsTo([id], url, request.query, store))}
        ${subscription && changes(sessionOf(request), html`<a class="button" href="${url}/remove">Remove this subscription…</a>`)}
      `,
    });
  });

  app.get('/subscriptions/:id/remove', async (request, reply) =>
    sendQuestion(reply, toQuestion(await find(request))),
  );

  app.post('/subscriptions/:id/remove', audited(removeSubscription.action), async (request, reply) => {
    const { operator } = sessionOf(request);
    await removeSubscription.run(parts, await find(request), operator.name);
    return sendDone(reply, pages.Subscriptions, 'removed');
  });
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
): Promise<Html> {
  let found: Awaited<ReturnType<typeof findSubscriptions>>;
  try {
    subscriptionField(given, 'id');
    const filter = { matching: readExpression(given), pushService: readOrigin(given['pushService'] ?? '') };
    found = await findSubscriptions(store, filter, { afterId, limit: pageRows });
  } catch (error) {
    if (!(error instanceof DeskbellError)) throw error;
    return notice('bad', 'This cannot be searched for', html`<p>${error.message}</p>`);
  }
  const { items, next } = found;
  const user = given['user'] ?? '';
  return html`
    ${table('Subscriptions', items.map(renderRow), 'No subscription fits.')}
    ${older(pages.Subscriptions, given, 'after', next, items.length < pageRows ? 'Search further' : 'Next')}
    ${user !== '' && html`<p><a href="${personUrl(user)}">This person: devices and broadcasts</a></p>`}
  `;
}

/** @throws {DeskbellError} ERR_FIELD_VALUE if the user or a tag is invalid */
function readExpression(given: Fields): AudienceExpression | undefined {
  const tags = toTags(given);
  const user = optionalField(given, 'user');
  const isFiltered = user !== undefined || Object.values(tags).some(({ length }) => length > 0);
  return isFiltered ? checkExpression({ user, tags }) : undefined;
}

function readOrigin(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  return trimmed.includes('://') ? trimmed : `https://${trimmed}`;
}

function renderRow(subscription: StoredSubscription) {
  const { id, endpoint, tags, createdAtMs } = subscription;
  return {
    Id: number(subscriptionLink(id)),
    'Push service': service(endpoint),
    User: wide(renderUser(subscription)),
    Tags: wide(renderTags(tags)),
    Registered: figure('subscription.createdAt', createdAtMs, id, time),
  };
}

const renderUser = ({ user }: StoredSubscription): Html =>
  user === undefined
    ? html`<span class="quiet">anonymous</span>`
    : html`<a href="${personUrl(user)}">${untrusted(user)}</a>`;

function renderFacts(subscription: StoredSubscription): Html {
  const { id, endpoint, createdAtMs, updatedAtMs, vapidPublicKey, language, timeZone } = subscription;
  const shown = figuresOf('subscription', id);
  return facts([
    ['Push service', service(endpoint)],
    ['User', renderUser(subscription)],
    ['Tags', subscription.tags.length === 0 ? 'none' : renderTags(subscription.tags)],
    ['Language', language ?? 'unknown'],
    ['Time zone', timeZone ?? 'unknown'],
    ['Choices made there', renderOwnChoices(subscription.channels)],
    ['Registered', shown('createdAt', createdAtMs, timeFromNow)],
    ['Renewed', shown('updatedAt', updatedAtMs, timeFromNow)],
    ['VAPID key', html`<code>${vapidPublicKey.slice(0, 12)}…</code>`],
  ]);
}

/** Explains why the subscription is no longer stored. */
const renderLoss = (loss: Loss | undefined): Html =>
  loss === undefined
    ? html`<p>It is no longer stored: it has ended, or was removed.</p>`
    : html`<p>It is no longer stored.</p>
        ${facts([
          ['Push service', service(loss.origin)],
          ['Lost', figure('loss.at', loss.atMs, loss.subscriptionId, timeFromNow)],
          ['Why', renderReason(loss)],
        ])}`;

const toQuestion = ({ id, user }: StoredSubscription): Question => ({
  title: 'Remove 1 subscription?',
  entry: 'Subscriptions',
  consequence: html`Subscription
  ${idText('subscription', id)}${user !== undefined && html` of ${untrusted(user)}`} is deleted. Its browser
  gets no more messages until its page registers it again.`,
  button: `Remove subscription ${idText('subscription', id)}`,
  backUrl: `/console/subscriptions/${id}`,
});

const renderFilters = (given: Fields): Html =>
  searchForm(pages.Subscriptions, [
    ...Object.entries(filters).map(([name, label]) => searchField(given, name, label)),
    numberField(given, 'id', 'Id'),
  ]);
