// A person: devices, data, channel choices, outcomes of broadcasts, and removal.
import type { FastifyInstance } from 'fastify';
import { countAudience } from '../../../delivery/broadcast/estimate-audience.ts';
import { checkRemoval, type CheckedRemoval, removePerson, updatePerson } from '../../../operations/people.ts';
import { checkUser } from '../../../audience/user-and-tags.ts';
import { html, type Html } from '../../../http/description/html.ts';
import type { OperatorContext } from '../../context.ts';
import { findPersonDevices, idsOf, maxShownDevices, type PersonDevices } from '../../searches.ts';
import { renderBroadcastsTo } from '../outcomes-table.ts';
import {
  badge,
  card,
  facts,
  number,
  searchField,
  searchForm,
  service,
  table,
  time,
  untrusted,
  urlWith,
  wide,
} from '../components.ts';
import { counted, figure } from '../figures.ts';
import { audited, textField, textFields } from '../forms.ts';
import { changes, type Question, renderTags, sendPage, sendQuestion, subscriptionLink } from '../page.ts';
import { sessionOf } from '../sessions.ts';
import { renderChoices, renderPerson } from '../person-data.ts';
import { lookUp } from '../../../errors/check-options.ts';

export const personUrl = (user: string): string => urlWith('/console/people', { user });

/** The choice that each button makes. The third button withdraws the choice. */
const choices: Readonly<Record<string, boolean>> = { on: true, off: false };

export function addPeoplePages(app: FastifyInstance, parts: OperatorContext): void {
  const { store } = parts;

  app.get('/people', async (request, reply) => {
    const { query } = request;
    const session = sessionOf(request);
    const user = textField(query, 'user');
    const receipt = textField(query, 'receipt');
    const fields = [
      searchField({ user }, 'user', 'User'),
      searchField({ receipt }, 'receipt', 'Receipt of a removal'),
    ];
    const form = searchForm('/console/people', fields, 'Show');
    if (user === '') return sendPage(reply, { title: 'Person', entry: 'Subscriptions', content: form });
    const [devices, person, channels] = await Promise.all([
      findPersonDevices(user, store),
      store.readers.person(user),
      store.channels.list(),
    ]);
    return sendPage(reply, {
      title: 'Person',
      entry: 'Subscriptions',
      lead: untrusted(user),
      content: html`${form}
      ${receipt !== '' && card('Removal', renderRemoval(await checkRemoval(store, user, receipt), user))}
      ${card('Devices', renderDevices(devices))} ${card('What is known', renderPerson(person))}
      ${card('Channels', renderChoices(person, channels, session))}
      ${card(
        'Broadcasts',
        await renderBroadcastsTo(idsOf(devices), '/console/people', query, store, { user }),
      )}
      ${changes(session, html`<a class="button" href="${urlWith('/console/people/remove', { user })}">Remove this person…</a>`)}`,
    });
  });

  app.post(
    '/people/choose',
    audited(updatePerson.action, ({ body }) => `user ${parts.hashPerson(textField(body, 'user'))}`),
    async (request, reply) => {
      const {
        user = '',
        channel = '',
        choice = '',
      } = textFields(request.body, ['user', 'channel', 'choice']);
      const channels = { [channel]: lookUp(choices, choice) ?? null };
      await updatePerson.run(parts, { user, channels }, sessionOf(request).operator.name);
      return reply.redirect(personUrl(user), 303);
    },
  );

  app.get('/people/remove', async (request, reply) => {
    const user = textField(request.query, 'user');
    if (user === '') return reply.redirect('/console/people', 303);
    const devices = await countAudience({ user }, store);
    return sendQuestion(reply, toQuestion(user, devices));
  });

  app.post(
    '/people/remove',
    audited(removePerson.action, ({ body }) => `user ${parts.hashPerson(textField(body, 'user'))}`),
    async (request, reply) => {
      const user = checkUser(textField(request.body, 'user'), '/user');
      const { operator } = sessionOf(request);
      const { removalReceipt, ...removed } = await removePerson.run(parts, { user }, operator.name);
      return sendPage(reply, {
        title: 'The person was removed',
        entry: 'Subscriptions',
        content: card(
          'What was deleted',
          html`${facts(
              Object.entries(removed).map(
                ([name, count]) => [name, figure(`removed.${name}`, count)] as const,
              ),
            )}
            <p>
              Receipt: <code>${removalReceipt}</code>. Keep it with the person’s name: together, they prove
              the removal later, on the <a href="/console/people">person’s page</a>. It is stored nowhere.
            </p>`,
        ),
      });
    },
  );
}

const renderRemoval = ({ removedAtMs, by }: CheckedRemoval, user: string): Html =>
  removedAtMs === undefined
    ? html`<p>This is not a receipt of the removal of ${untrusted(user)}, or its audit is no longer kept.</p>`
    : html`<p>
        ${untrusted(user)} was removed at ${figure('person.removedAt', removedAtMs, user, time)} by ${by}.
      </p>`;

function renderDevices({ stored, ended, hasMore }: PersonDevices): Html {
  return html`${table(
    'Devices',
    [
      ...stored.map(({ id, endpoint, tags, createdAtMs, updatedAtMs }) => ({
        Subscription: number(subscriptionLink(id)),
        'Push service': service(endpoint),
        State: badge('stored', 'good'),
        Tags: wide(renderTags(tags)),
        Registered: figure('subscription.createdAt', createdAtMs, id, time),
        Renewed: figure('subscription.updatedAt', updatedAtMs, id, time),
      })),
      ...ended.map(({ id, endpoint, goneAtMs }) => ({
        Subscription: number(subscriptionLink(id)),
        'Push service': service(endpoint),
        State: html`${badge('ended', 'warn')}
          <div>${figure('subscription.endedAt', goneAtMs, id, time)}</div>`,
        Tags: wide(''),
        Registered: '',
        Renewed: '',
      })),
    ],
    'No subscription of this user is stored, or remembered as ended.',
  )}
  ${hasMore && html`<p class="quiet">There are more than ${String(maxShownDevices)}; the others are not shown.</p>`}`;
}

const toQuestion = (user: string, devices: number): Question => ({
  title: 'Remove a person?',
  entry: 'Subscriptions',
  consequence: html`All that the database knows of ${badge('user', 'plain')}
    <strong>${untrusted(user)}</strong> is deleted:
    <strong>${figure('person.devices', devices, user, counted('subscription'))}</strong>, broadcasts to this
    person alone, places in lists, attempts. Backups and logs are not touched.`,
  button: 'Remove the person',
  fields: { user },
  backUrl: personUrl(user),
});
