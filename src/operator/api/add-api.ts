// The operator's API: everything here needs a token. A folder's route files each add the routes of one kind of resource.
import { collectRoutes, createOpenApiDocument } from '../../http/description/openapi-document.ts';
import { contentResponse } from '../../http/description/openapi-responses.ts';
import type { Operation } from '../../http/description/operation.ts';
import { sendJson } from '../../http/json-text.ts';
import { Type, type SchemaTypeProvider } from '../../http/schema.ts';
import { readJsonBodies, readTextBodies } from '../../http/json-body.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import { requireToken } from '../authorize.ts';
import { addMetricsRoute } from '../metrics/add-metrics.ts';
import { operatorDescription } from '../description.ts';
import type { OperatorContext } from '../context.ts';
import { addAlarmRoutes } from './alarms.ts';
import { addAuditRoutes } from './audit.ts';
import { addBroadcastRoutes } from './broadcasts.ts';
import { addChannelRoutes } from './channels.ts';
import { addHeldDeletionRoutes } from './held-deletions.ts';
import { addKeyRoutes } from './keys.ts';
import { addMessageRoutes } from './messages.ts';
import { addOutcomeRoutes } from './outcomes.ts';
import { addPeopleRoutes } from './people.ts';
import { addPushServiceRoutes } from './push-services.ts';
import { addScheduleRoutes } from './schedules.ts';
import { addSubscriptionRoutes } from './subscriptions.ts';

const openApiOperation: Operation = {
  operationId: 'getDescription',
  tag: 'Installation',
  summary: 'This description',
  responses: {
    200: contentResponse('application/json', 'OpenAPI 3.1.', Type.AnyObject(), { openapi: '3.1.0' }),
  },
  security: [{ token: [] }],
};

/** A message has at most 4 kB, whatever its members are. */
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
  addSubscriptionRoutes(app, parts);
  addChannelRoutes(app, parts);
  addPeopleRoutes(app, parts);
  addPushServiceRoutes(app, parts);
  addHeldDeletionRoutes(app, parts);
  addAlarmRoutes(app, parts);
  addKeyRoutes(app, parts);
  addAuditRoutes(app, parts);
  addMetricsRoute(app, parts.metrics);
  let document: object | undefined;
  app.get('/openapi.json', { config: { operation: openApiOperation } }, (_request, reply) =>
    sendJson(reply, (document ??= createOpenApiDocument(routes, '', operatorDescription))),
  );
}
