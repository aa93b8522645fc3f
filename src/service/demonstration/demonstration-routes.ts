// The routes of the demonstration: its page, its session and its actions.
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify';
import { contentResponse, type Operation } from '../../http/description/operation.ts';
import { jsonContentType } from '../../http/json-body.ts';
import { type ServiceApp, Type } from '../../http/schema.ts';
import type { DemoActionName, Settings } from '../options.ts';
import { annotateClass, createSessionAuthenticator, enforceAuthenticators } from './authenticator.ts';
import {
  ActionRequest,
  createActionLogging,
  createLoggingActionCreator,
  type InAction,
  type ReadSession,
  useActionCreator,
} from './logging-mechanisms.ts';
import { sessionCookieName, type SessionOf } from './session.ts';
import { addUserRoutes, type ExampleUsers, openExampleUsers } from './users.ts';

export const securitySchemes = {
  session: { type: 'apiKey', in: 'cookie', name: sessionCookieName, description: 'Sealed session.' },
  csrfToken: {
    type: 'apiKey',
    in: 'header',
    name: 'Csrf-Token',
    description: 'Needed by unsafe methods that carry the session cookie.',
  },
} as const;

export async function addDemonstrationRoutes(
  app: ServiceApp,
  settings: Settings,
  sessionOf: SessionOf,
): Promise<void> {
  const readSession: ReadSession = (request) => {
    const value = sessionOf(request)?.SESSION;
    return value === undefined ? {} : { SESSION: value };
  };
  await app.register(async (scope) => addActionRoutes(scope, settings, readSession));
  addUserRoutes(app, settings.exampleUsers ?? openOwnUsers(app));
}

function openOwnUsers(app: ServiceApp): ExampleUsers {
  const users = openExampleUsers();
  app.addHook('onClose', async () => users.close());
  return users;
}

// The demonstration actions under /api show the four logging mechanisms. Each action returns a fixed JSON string.

const maxArgLength = 256;
const argParams = Type.Object({ arg: Type.String({ minLength: 1, maxLength: maxArgLength }) });
const postBody = Type.AnyObject({ description: 'Any JSON object.', examples: [{ note: 'anything' }] });

const answers: Readonly<Record<DemoActionName, string>> = {
  get: 'This is the answer to get.',
  getWithArg: 'This is the answer to getWithArg.',
  post: 'This is the answer to post.',
};

/** Call this in a separate scope, because the action creator and the authenticator may apply to the whole scope. */
function addActionRoutes(app: ServiceApp, settings: Settings, readSession: ReadSession): void {
  const { logging, log, authorize = () => true } = settings;
  const { authenticate = logging.includes('authenticator') ? 'all' : 'none' } = settings;
  const authenticator = createSessionAuthenticator(
    authorize,
    logging.includes('authenticator') ? log : undefined,
  );
  if (authenticate === 'all') annotateClass(app, authenticator);
  enforceAuthenticators(app, readSession);
  if (logging.includes('action-creator')) {
    useActionCreator(app, createLoggingActionCreator(log), readSession);
  }
  const configOf = (name: DemoActionName): FastifyContextConfig => ({
    operation: operations[name],
    ...(Array.isArray(authenticate) && authenticate.includes(name) && { authenticator }),
  });
  const inAction = logging.includes('action') ? createActionLogging(log) : withoutLogging;
  const run = (name: DemoActionName) => async (request: FastifyRequest, reply: FastifyReply) => {
    reply.header('content-type', jsonContentType);
    return JSON.stringify(await inAction(new ActionRequest(request, readSession), () => answers[name]));
  };

  app.get('/api/get', { config: configOf('get') }, run('get'));
  app.get(
    '/api/getWithArg/*',
    { schema: { params: argParams }, config: { ...configOf('getWithArg'), wildcardParam: 'arg' } },
    run('getWithArg'),
  );
  app.post(
    '/api/post',
    { schema: { body: postBody }, config: { ...configOf('post'), csrfExempt: true } },
    run('post'),
  );
}

const withoutLogging: InAction = (_request, work) => work();

const operations: Readonly<Record<DemoActionName, Operation>> = {
  get: describeAction('demoGet', 'A fixed answer', answers.get),
  getWithArg: describeAction('demoGetWithArg', 'A fixed answer, whatever the argument', answers.getWithArg),
  post: describeAction('demoPost', 'A fixed answer to any JSON object', answers.post),
};

function describeAction(operationId: string, summary: string, answer: string): Operation {
  return {
    operationId,
    tag: 'Demonstration',
    summary,
    responses: { 200: contentResponse('application/json', 'A JSON string.', Type.Literal(answer), answer) },
  };
}
