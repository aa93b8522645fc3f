// The console: pages of the operator's listener under /console/, which call what the API calls; and signing in and out.
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { operatorErrors } from '../../errors/catalogue.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { clientOf } from '../../http/client-address.ts';
import { createClientLimits, limitPerMinute } from '../../http/client-limits.ts';
import { html } from '../../http/description/html.ts';
import { toFault, toProblem } from '../../http/problem.ts';
import { rejectUnmatched } from '../../http/unknown-paths.ts';
import { hashOperatorToken } from '../../keys/secret-files.ts';
import type { Operator } from '../../store/operators.ts';
import { consoleRoles } from '../authorize.ts';
import type { OperatorContext } from '../context.ts';
import { addAlarmPage } from './alarms.ts';
import { readForms, textField } from './forms.ts';
import { createLive } from './live.ts';
import { addFiles, icon, pageHeaders, pages, renderAlone, sendPage } from './page.ts';
import { addBellPages } from './pages/bells.ts';
import { addBroadcastPages } from './pages/broadcast.ts';
import { addBroadcastsPage } from './pages/broadcasts.ts';
import { addChannelPages } from './pages/channels.ts';
import { addAuditPage, addKeysPage } from './pages/installation.ts';
import { addLossesPage } from './pages/losses.ts';
import { addOverview } from './pages/overview.ts';
import { addPeoplePages } from './pages/people.ts';
import { addHeldDeletionPages, addPushServicesPage } from './pages/push-services.ts';
import { addSchedulePages } from './pages/schedules.ts';
import { addSearchPage } from './pages/search.ts';
import { addSendPages } from './pages/send.ts';
import { addSubscriptionPages } from './pages/subscriptions.ts';
import {
  type ConsoleSession,
  type ConsoleSessions,
  createSessions,
  requireSession,
  sessionNameOf,
  sessionOf,
  setSessionCookie,
} from './sessions.ts';

export async function addConsole(app: FastifyInstance, parts: OperatorContext): Promise<void> {
  app.get('/', (_request, reply) => reply.redirect('/console/', 303));
  await app.register(
    async (scope) => {
      readForms(scope);
      const sessions = createSessions(parts.store);
      showErrors(scope, sessions, parts);
      requireSession(scope, sessions);
      addFiles(scope);
      await addSignIn(scope, parts, sessions);
      const addLive = createLive(scope, sessions, parts.log);
      addOverview(scope, parts, addLive);
      addAlarmPage(scope, parts);
      addBroadcastsPage(scope, parts);
      addSchedulePages(scope, parts);
      addSendPages(scope, parts);
      addSearchPage(scope, parts);
      addSubscriptionPages(scope, parts);
      addLossesPage(scope, parts);
      addPeoplePages(scope, parts);
      addChannelPages(scope, parts);
      addBellPages(scope, parts);
      addPushServicesPage(scope, parts, addLive);
      addHeldDeletionPages(scope, parts);
      addKeysPage(scope, parts);
      addAuditPage(scope, parts);
      addBroadcastPages(scope, parts, addLive);
    },
    { prefix: '/console' },
  );
}

/** Shows errors and unknown paths as pages, with the navigation if somebody is signed in. */
function showErrors(app: FastifyInstance, sessions: ConsoleSessions, { log }: OperatorContext): void {
  const findSession = async (request: FastifyRequest): Promise<ConsoleSession | undefined> => {
    try {
      return await sessions.find(sessionNameOf(request) ?? '');
    } catch {
      return undefined;
    }
  };

  app.setErrorHandler(async (error, request, reply) => {
    const fault = toFault(error, request);
    const { status, title, detail: words } = toProblem(fault, operatorErrors);
    const isOurs = status >= 500;
    // somebody who is signed in may see the cause
    const isTold = isOurs && fault.code !== 'ERR_INTERNAL' && request.operator !== null;
    const detail = isTold ? `${fault.message} ${words}` : words;
    if (isOurs) log.error({ event: 'fault', method: request.method, url: request.url.split('?')[0], error });
    reply.code(status).headers(pageHeaders);
    // do not query a store that has just failed
    const session = isOurs ? undefined : await findSession(request);
    request.consoleSession = session ?? null;
    const wayBack = html`<p class="buttons">
      <a class="button" href="${pages.Overview}">To the overview</a>
    </p>`;
    if (session !== undefined)
      return sendPage(reply, {
        title,
        content: html`<p>${detail}</p>
          ${wayBack}`,
      });
    return reply.send(
      renderAlone(
        title,
        html`<section class="card">
          <h1>${title}</h1>
          <p>${detail}</p>
          ${wayBack}
        </section>`,
      ),
    );
  });
  app.setNotFoundHandler((request) => {
    throw rejectUnmatched(app, request.method, request.url).fault;
  });
}

/** Per client address and minute. A token has 256 bits, so the limit only protects the log and the processor. */
const attemptsPerMinute = 10;

async function addSignIn(
  app: FastifyInstance,
  { store, isSecure, log }: OperatorContext,
  sessions: ConsoleSessions,
): Promise<void> {
  await app.register(rateLimit, {
    global: false,
    keyGenerator: clientOf,
    store: createClientLimits(store.clientRequests),
  });

  app.get('/sign-in', { config: { isOpen: true } }, (request, reply) =>
    reply.headers(pageHeaders).send(renderSignIn(readTarget(request.query))),
  );

  app.post(
    '/sign-in',
    {
      config: {
        isOpen: true,
        audit: 'none',
        rateLimit: limitPerMinute(attemptsPerMinute, 'sign in'),
      },
    },
    async (request, reply) => {
      const to = readTarget(request.body);
      const operator = await store.operators.findByToken(
        hashOperatorToken(textField(request.body, 'token').trim()),
      );
      if (operator === undefined || !consoleRoles.includes(operator.role)) {
        log.info({ event: 'console sign-in refused', client: clientOf(request) });
        return reply
          .code(403)
          .headers(pageHeaders)
          .send(renderSignIn(to, 'This is not the token of an operator who may use the console.'));
      }
      setSessionCookie(reply, await startSession(request, operator), isSecure);
      return reply.redirect(to, 303);
    },
  );

  /** Works even if the disk is full, so that operators can see what is wrong. */
  const startSession = async (request: FastifyRequest, operator: Operator): Promise<string> => {
    try {
      await sessions.end(sessionNameOf(request) ?? '');
      return await sessions.start(operator);
    } catch (error) {
      if (!(error instanceof DeskbellError && error.code === 'ERR_STORE_UNAVAILABLE')) throw error;
      const record = { event: 'console session only for reading', operator: operator.name };
      log.error({ ...record, client: clientOf(request), detail: error.message });
      return sessions.seal(operator);
    }
  };

  app.post('/sign-out', { config: { audit: 'none', roles: consoleRoles } }, async (request, reply) => {
    if (!sessionOf(request).isSealed) await sessions.end(sessionNameOf(request) ?? '');
    setSessionCookie(reply, '', isSecure);
    return reply.redirect('/console/sign-in', 303);
  });
}

/** Only pages of the console, never another site. */
function readTarget(given: unknown): string {
  const { to } = (given ?? {}) as { readonly to?: unknown };
  return typeof to === 'string' && /^\/console\/[\w/-]*(?:\?[\w%.&=+-]*)?$/.test(to) ? to : '/console/';
}

function renderSignIn(to: string, fault?: string): string {
  return renderAlone(
    'Sign in',
    html`<section class="card">
      <p class="brand">${icon} Deskbell</p>
      <h1>Sign in</h1>
      ${fault && html`<div class="notice bad" role="alert"><p>${fault}</p></div>`}
      <form method="post" action="/console/sign-in" class="form">
        <input type="hidden" name="to" value="${to}" />
        <label>
          Operator token
          <input
            name="token"
            type="password"
            autocomplete="current-password"
            required
            autofocus
            aria-describedby="hint"
          />
          <small id="hint">
            Run <code>deskbell operators add NAME</code> on the server; it prints a token once.
          </small>
        </label>
        <button class="primary">Sign in</button>
      </form>
    </section>`,
  );
}
