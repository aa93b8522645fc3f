// Routes to sign in to the console with an operator's token, and to sign out.
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { clientOf } from '../../http/client-address.ts';
import { createClientLimits, limitPerMinute } from '../../http/client-limits.ts';
import { html } from '../../http/description/html.ts';
import { hashOperatorToken } from '../../keys/secret-files.ts';
import type { Operator } from '../../store/operators.ts';
import { consoleRoles } from '../authorize.ts';
import type { OperatorContext } from '../context.ts';
import { textField } from './forms.ts';
import { icon, pageHeaders, renderAlone } from './page.ts';
import { type ConsoleSessions, sessionNameOf, sessionOf, setSessionCookie } from './sessions.ts';

/**
 * Maximum number of sign-in attempts per client address and minute. Nobody can guess a token of 256 bits, even without
 * this limit. The limit only prevents attempts from filling the log and keeping the processor busy.
 */
const attemptsPerMinute = 10;

export async function addSignIn(
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

  /** Starts a session even if the disk is full, so that operators can see what is wrong. */
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

/** Returns the page to open after signing in: a page of the console, never another site. */
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
