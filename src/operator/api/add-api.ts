// The operator's API: every request needs a token. Each route file in this folder is for one kind of resource.
import { operatorErrors } from '../../errors/catalogue.ts';
import {
  collectRoutes,
  createOpenApiDocument,
  type Description,
  license,
} from '../../http/description/openapi-document.ts';
import { contentResponse, type Operation } from '../../http/description/operation.ts';
import { readJsonBodies, readTextBodies, sendJson } from '../../http/json-body.ts';
import { type SchemaTypeProvider, type ServiceApp, Type } from '../../http/schema.ts';
import { acknowledge, listAlarms } from '../../operations/alarms.ts';
import {
  addBell,
  bellParams,
  bellWithRequestsView,
  listBells,
  removeBell,
  rotateBell,
  showBell,
} from '../../operations/bells.ts';
import { listChannels, removeChannel, updateChannel } from '../../operations/channels.ts';
import { decisions, listHeldDeletions } from '../../operations/held-deletions.ts';
import {
  checkedRemovalView,
  checkRemoval,
  personView,
  updatePerson,
  userParams,
} from '../../operations/people.ts';
import { requireToken } from '../authorize.ts';
import type { OperatorContext } from '../context.ts';
import { addMetricsRoute } from '../metrics/metrics.ts';
import { operatorFormats } from '../validator.ts';
import { addBroadcastRoutes } from './broadcasts.ts';
import { addInstallationRoutes } from './installation.ts';
import { addMessageRoutes } from './messages.ts';
import { addOperations, addRoute } from './operations.ts';
import { addOutcomeRoutes } from './outcomes.ts';
import { listPushServices, listSenders } from './push-services.ts';
import { addScheduleRoutes } from './schedules.ts';
import { addSubscriptionRoutes } from './subscriptions.ts';

const summary = `Sends push messages and broadcasts, shows their outcomes, and manages subscriptions. Every request needs a token, which \`deskbell operators add NAME\` prints. A request that changes something needs the role \`full\` and leaves an audit record. With the role \`send\`, an operator may send messages, and see its own broadcasts. Lists have pages. To get the next page, pass \`next\` as \`cursor\`; on the last page, \`next\` is null. Times are ISO 8601. Every
error is an RFC 9457 problem with a stable \`code\`. The API never returns an endpoint, \`p256dh\` or \`auth\`.`;

export const operatorDescription: Description = {
  info: {
    title: 'Deskbell: the operator’s API',
    // The version of the API; raise it with every change that a client can see.
    version: '3.1.0',
    description: summary,
    license,
  },
  formats: operatorFormats,
  tags: {
    Sending: 'Messages and broadcasts.',
    Subscriptions: 'Subscriptions, channels, and data of people.',
    'Push services': 'The current state of sending, and deletions that wait for a decision.',
    Installation: 'Keys, audit and this description.',
  },
  securitySchemes: {
    token: { type: 'http', scheme: 'bearer', description: 'A token from `deskbell operators add`.' },
  },
  errors: operatorErrors,
  errorsEverywhere: [
    'ERR_TOKEN_INVALID',
    'ERR_TOKEN_ROLE',
    'ERR_HOST_REFUSED',
    'ERR_ORIGIN_REFUSED',
    'ERR_STORE_UNAVAILABLE',
  ],
  headersEverywhere: { 'Cache-Control': { schema: { type: 'string', enum: ['no-store'] } } },
};

const openApiOperation: Operation = {
  operationId: 'getDescription',
  tag: 'Installation',
  summary: 'Returns this description',
  responses: {
    200: contentResponse('application/json', 'OpenAPI 3.1.', Type.AnyObject(), { openapi: '3.1.0' }),
  },
  security: [{ token: [] }],
};

/** Far larger than any message, which has at most 4 kB. */
const bodyLimitBytes = 64 * 1024;

export function addApi(app: ServiceApp, parts: OperatorContext): void {
  readJsonBodies(app, bodyLimitBytes);
  requireToken(app, parts.store.operators);
  app.addHook('onRoute', ({ url, config }) => {
    if (config?.operation === undefined) throw new Error(`The route ${url} is not described.`);
  });
  const routes = collectRoutes(app);
  app.register(async (scope) => {
    readTextBodies(scope);
    addMessageRoutes(scope.withTypeProvider<SchemaTypeProvider>(), parts);
  });
  addBroadcastRoutes(app, parts);
  addOutcomeRoutes(app, parts);
  addScheduleRoutes(app, parts);
  addOperations(app, parts, [listBells, addBell, rotateBell, removeBell]);
  addRoute(app, 'Sending', 'GET /v1/bells/:name', {
    operationId: 'getBell',
    summary: 'Returns a bell and its last ten requests',
    params: bellParams,
    answer: bellWithRequestsView.schema,
    errors: ['ERR_BELL_NOT_FOUND'],
    handle: async ({ params: { name } }) => bellWithRequestsView.toJson(await showBell(parts.store, name)),
  });
  addSubscriptionRoutes(app, parts);
  addOperations(app, parts, [listChannels, updateChannel, removeChannel]);
  addRoute(app, 'Subscriptions', 'GET /v1/people/:user', {
    operationId: 'getPerson',
    summary: 'Returns a person’s data, language, time zone and choices',
    description: 'Data and choices are absent if nothing has been set.',
    params: userParams,
    answer: personView.schema,
    errors: ['ERR_FIELD_VALUE'],
    handle: async ({ params: { user } }) => personView.toJson(await parts.store.readers.person(user)),
  });
  addRoute(app, 'Subscriptions', 'GET /v1/people/:user/removal', {
    operationId: 'checkRemoval',
    summary: 'Returns when the person of a removal receipt was removed',
    params: userParams,
    query: {
      receipt: Type.String({
        format: 'plain-text',
        description: 'The `removalReceipt` from the removal.',
      }),
    },
    answer: checkedRemovalView.schema,
    errors: ['ERR_FIELD_VALUE'],
    handle: async ({ params: { user }, query: { receipt } }) =>
      checkedRemovalView.toJson(await checkRemoval(parts.store, user, receipt)),
  });
  addOperations(app, parts, [
    updatePerson,
    listPushServices,
    listSenders,
    listHeldDeletions,
    decisions.confirm,
    decisions.discard,
    listAlarms,
    acknowledge,
  ]);
  addInstallationRoutes(app, parts);
  addMetricsRoute(app, parts.metrics);
  let document: object | undefined;
  app.get('/openapi.json', { config: { operation: openApiOperation } }, (_request, reply) =>
    sendJson(reply, (document ??= createOpenApiDocument(routes, '', operatorDescription))),
  );
}
