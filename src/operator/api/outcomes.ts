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
  summary: 'The outcome of each subscription in a broadcast, as CSV',
  description:
    'One line for each known subscription of the audience, with its last attempt. Subscriptions that were removed ' +
    'from the store before their turn are missing in a broadcast to all, as are those of a list that need not be stored. Text that ' +
    'begins with one of = + - @ is preceded by an apostrophe, so that spreadsheets do not run it.',
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
  'Broadcasts whose audience included the subscription. A page has all outcomes of at most `limit` broadcasts. Each request searches ' +
  'at most a hundred broadcasts, so a page may be empty and still have a next page. Messages to single subscriptions are not kept.';

export function addOutcomeRoutes(app: ServiceApp, { store }: OperatorContext): void {
  const { attempts } = store;
  addList(app, 'Sending', '/v1/broadcasts/:id/outcomes', {
    operationId: 'listBroadcastOutcomes',
    summary: 'The outcomes of subscriptions in a broadcast',
    description:
      'With a subscription or a user: the answer for these, whatever it is. Otherwise all known outcomes, in the order of ids; ' +
      'a page may have fewer items than `limit` and still have a next page.',
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
    summary: 'The outcomes of the newest broadcasts to a subscription',
    description: ofBroadcasts,
    params: idParams,
    view: rowOutcomeView,
    read: async ({ params: { id } }, { limit, cursor }) =>
      toPage(await attempts.outcomesTo([id], { beforeId: cursor, limit })),
  });

  addList(app, 'Subscriptions', '/v1/people/:user/outcomes', {
    operationId: 'listPersonOutcomes',
    summary: 'The outcomes of the newest broadcasts to a person',
    description: `${ofBroadcasts} Includes at most 20 stored devices, and 20 that have ended and are still remembered.`,
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
