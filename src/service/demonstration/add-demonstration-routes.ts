import type { ServiceApp } from '../../http/schema.ts';
import type { Settings } from '../options.ts';
import { addActionRoutes } from './actions.ts';
import { rejectForgedRequests } from './csrf.ts';
import { openExampleUsers, type ExampleUsers } from './example-users.ts';
import type { ReadSession } from './mechanisms/action-request.ts';
import type { RequestSessions } from './session.ts';
import { sessionCookieName } from './session-cookie.ts';
import { addUserRoutes } from './users.ts';

export const securitySchemes = {
  session: { type: 'apiKey', in: 'cookie', name: sessionCookieName, description: 'Sealed session.' },
  csrfToken: {
    type: 'apiKey',
    in: 'header',
    name: 'Csrf-Token',
    description: 'Needed by unsafe methods that carry the session cookie.',
  },
} as const;

/** Opens the session of each request and rejects forged requests. Call it before any route is added. */
export function protectSessions(app: ServiceApp, sessions: RequestSessions): void {
  sessions.openSessions(app);
  rejectForgedRequests(app, sessions);
}

export async function addDemonstrationRoutes(app: ServiceApp, settings: Settings): Promise<void> {
  await app.register(async (scope) => addActionRoutes(scope, settings, sessionReader(settings.sessions)));
  addUserRoutes(app, settings.exampleUsers ?? openOwnUsers(app));
}

function openOwnUsers(app: ServiceApp): ExampleUsers {
  const users = openExampleUsers();
  app.addHook('onClose', async () => users.close());
  return users;
}

function sessionReader(sessions: RequestSessions): ReadSession {
  return (request) => {
    const value = sessions.of(request)?.SESSION;
    return value === undefined ? {} : { SESSION: value };
  };
}
