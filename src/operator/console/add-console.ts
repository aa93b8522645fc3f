// The console: the pages under /console/ of the operator's listener, which use the same functions as the API.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { operatorErrors } from '../../errors/catalogue.ts';
import { html } from '../../http/description/html.ts';
import { toFault, toProblem } from '../../http/problem.ts';
import { rejectUnmatched } from '../../http/unknown-paths.ts';
import type { OperatorContext } from '../context.ts';
import { addAlarmPage } from './pages/alarms.ts';
import { readForms } from './forms.ts';
import { createLive } from './live.ts';
import { addFiles, pageHeaders, pages, renderAlone, sendPage } from './page.ts';
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
} from './sessions.ts';
import { addSignIn } from './sign-in.ts';

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
      const addLive = createLive(scope);
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
    // an operator who is signed in may see the cause
    const isTold = isOurs && fault.code !== 'ERR_INTERNAL' && request.operator !== null;
    const detail = isTold ? `${fault.message} ${words}` : words;
    if (isOurs) log.error({ event: 'fault', method: request.method, url: request.url.split('?')[0], error });
    reply.code(status).headers(pageHeaders);
    // do not query the store again right after it has failed
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
