// The outcomes of a broadcast as JSON and CSV, for all subscriptions, for one subscription, or for a person. Also lists
// the broadcasts to a subscription or a person.
import { contentResponse, type Operation } from '../../http/description/operation.ts';
import { idKeywords, Optional, type ServiceApp, Type } from '../../http/schema.ts';
import type { RowOutcome, RowOutcomes } from '../../store/attempts.ts';
import type { Operator } from '../../store/operators.ts';
import { userKeywords } from '../../operations/audience.ts';
import { csvHeader, rowOutcomeView } from '../../operations/outcomes.ts';
import { watchers } from '../../operations/operation.ts';
import type { OperatorContext } from '../context.ts';
import { findPersonDevices, idsOf, type ListPage } from '../searches.ts';
import { assertShowsRows } from '../authorize.ts';
import { sendOutcomes } from '../send-message.ts';
import { idParams } from '../../operations/operation.ts';
import { userParams } from '../../operations/people.ts';
import { addList } from './operations.ts';

/** The number of ids to read for one page. */
const idsAtOnce = 1000;

const csvOperation: Operation = {
  operationId: 'exportOutcomes',
  tag: 'Sending',
  summary: 'Returns the outcome for each subscription in a broadcast, as CSV',
  description:
    'The response has one line for each known subscription of the audience, with its last attempt. For a broadcast to all, ' +
    'subscriptions that were removed from the store before their turn are missing. For a broadcast to a list of subscriptions ' +
    'that need not be stored, there are no lines. Text that begins with one of = + - @ is preceded by an apostrophe, so that ' +
    'spreadsheets do not run the text as a formula.',
  responses: {
    200: contentResponse('text/csv', 'The lines, in the order of ids.', Type.String(), csvHeader),
  },
  errors: ['ERR_BROADCAST_NOT_FOUND'],
  security: [{ token: [] }],
};

const query = {
  subscription: Optional.Integer({ ...idKeywords, description: 'Only for this subscription.' }),
  user: Optional.String({ ...userKeywords, description: 'Only for the devices of this person, at most 20.' }),
};

const ofBroadcasts =
  'The list contains broadcasts whose audience included the subscription. A page has all outcomes of at most `limit` broadcasts. ' +
  'Each request searches at most a hundred broadcasts, so a page may be empty and still have a next page. The outcomes of single ' +
  'messages are not kept.';

export function addOutcomeRoutes(app: ServiceApp, { store }: OperatorContext): void {
  const { attempts } = store;
  addList(app, 'Sending', '/v1/broadcasts/:id/outcomes', {
    operationId: 'listBroadcastOutcomes',
    summary: 'Lists the outcomes of subscriptions in a broadcast',
    description:
      'If you give a subscription or a user, the list says what happened to each of their subscriptions in this broadcast. ' +
      'Otherwise, it contains all known outcomes, in the order of ids. A page may have fewer items than `limit` and still have a ' +
      'next page.',
    params: idParams,
    query,
    view: rowOutcomeView,
    errors: ['ERR_BROADCAST_NOT_FOUND', 'ERR_FIELD_VALUE'],
    roles: watchers,
    read: async ({ params: { id }, query: { subscription, user }, operator }, { limit, cursor = 0 }) => {
      await assertShowsRows(store, id, operator, user);
      const show = shownTo(operator);
      if (subscription === undefined && user === undefined) {
        const found = await attempts.outcomesAfter(id, { afterId: cursor, ids: idsAtOnce });
        const items = found.outcomes.slice(0, limit);
        const isCut = items.length < found.outcomes.length;
        return { items: items.map(show), next: isCut ? items.at(-1)?.subscriptionId : found.next };
      }
      const devices = user === undefined ? undefined : idsOf(await findPersonDevices(user, store));
      const asked = devices?.filter((device) => subscription === undefined || device === subscription);
      const found = await attempts.outcomesOf(id, asked ?? [subscription!]);
      return { items: found.map(show) };
    },
  });

  app.get(
    '/v1/broadcasts/:id/outcomes.csv',
    {
      exposeHeadRoute: false,
      schema: { params: Type.Object(idParams) },
      config: { operation: csvOperation, roles: watchers },
    },
    async ({ params: { id }, operator }, reply) => {
      await assertShowsRows(store, id, operator);
      return sendOutcomes(reply, attempts, id, shownTo(operator));
    },
  );

  addList(app, 'Subscriptions', '/v1/subscriptions/:id/outcomes', {
    operationId: 'listSubscriptionOutcomes',
    summary: 'Lists the outcomes of the newest broadcasts to a subscription',
    description: ofBroadcasts,
    params: idParams,
    view: rowOutcomeView,
    read: async ({ params: { id } }, { limit, cursor }) =>
      toPage(await attempts.outcomesTo([id], { beforeId: cursor, limit })),
  });

  addList(app, 'Subscriptions', '/v1/people/:user/outcomes', {
    operationId: 'listPersonOutcomes',
    summary: 'Lists the outcomes of the newest broadcasts to a person',
    description: `${ofBroadcasts} The list includes at most 20 stored devices of the person, and 20 devices whose subscription has ended and is still remembered.`,
    params: userParams,
    view: rowOutcomeView,
    errors: ['ERR_FIELD_VALUE'],
    read: async ({ params: { user } }, { limit, cursor }) => {
      const devices = idsOf(await findPersonDevices(user, store));
      return toPage(await attempts.outcomesTo(devices, { beforeId: cursor, limit }));
    },
  });
}

const toPage = ({ outcomes: items, next }: RowOutcomes): ListPage<RowOutcome> => ({ items, next });

/** Hides the users of subscriptions from the role `send`. */
const shownTo =
  (operator: Operator | null) =>
  (outcome: RowOutcome): RowOutcome =>
    operator?.role === 'send' ? { ...outcome, user: undefined } : outcome;
