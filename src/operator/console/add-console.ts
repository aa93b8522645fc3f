// The console: pages for people, at the operator's listener under /console/. Its pages call what the API calls.
import type { FastifyInstance } from 'fastify';
import { operatorErrors } from '../../errors/catalogue/operator-errors.ts';
import { html } from '../../http/description/html.ts';
import { toProblem } from '../../http/problem.ts';
import { toFault } from '../../http/fastify-errors.ts';
import type { OperatorContext } from '../context.ts';
import { requireSession } from './require-session.ts';
import { addFiles } from './files.ts';
import { createLive } from './live.ts';
import { readForms } from './forms.ts';
import { pages, renderAlone } from './page.ts';
import { pageHeaders } from './page-headers.ts';
import { addAuditPage } from './pages/audit.ts';
import { addBroadcastPages } from './pages/broadcast.ts';
import { addBroadcastsPage } from './pages/broadcasts.ts';
import { addSchedulePages } from './pages/schedules.ts';
import { addSendPages } from './pages/send.ts';
import { addKeysPage } from './pages/keys.ts';
import { addPushServicesPage } from './pages/push-services.ts';
import { addSubscriptionPages } from './pages/subscriptions.ts';
import { addOverview } from './pages/overview.ts';
import { createSessions } from './sessions.ts';
import { addSignIn } from './sign-in.ts';

export async function addConsole(app: FastifyInstance, parts: OperatorContext): Promise<void> {
  app.get('/', (_request, reply) => reply.redirect('/console/', 303));
  await app.register(
    async (scope) => {
      readForms(scope);
      showErrors(scope, parts);
      const sessions = createSessions(parts.store.operators);
      requireSession(scope, sessions);
      addFiles(scope);
      await addSignIn(scope, parts, sessions);
      const addLive = createLive(scope, sessions, parts.log);
      addOverview(scope, parts, addLive);
      addBroadcastsPage(scope, parts);
      addSchedulePages(scope, parts);
      addSendPages(scope, parts);
      addSubscriptionPages(scope, parts);
      addPushServicesPage(scope, parts, addLive);
      addKeysPage(scope, parts);
      addAuditPage(scope, parts);
      addBroadcastPages(scope, parts, addLive);
    },
    { prefix: '/console' },
  );
}

/** Errors are pages too. */
function showErrors(app: FastifyInstance, { log }: OperatorContext): void {
  app.setErrorHandler((error, request, reply) => {
    const problem = toProblem(toFault(error, request), operatorErrors);
    if (problem.status >= 500) log.error({ event: 'fault', method: request.method, url: request.url, error });
    const page = renderAlone(
      problem.title,
      html`<section class="card">
        <h1>${problem.title}</h1>
        <p>${problem.detail}</p>
        <p class="buttons"><a class="button" href="${pages.Overview}">To the overview</a></p>
      </section>`,
    );
    return reply.code(problem.status).headers(pageHeaders).send(page);
  });
}
