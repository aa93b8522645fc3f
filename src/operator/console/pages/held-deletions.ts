// Deletions that wait for a decision: who called the subscriptions gone, and what is done with them, after a question with their
// number.
import type { FastifyInstance } from 'fastify';
import { countOf, formatCount } from '../../../errors/format-count.ts';
import { hostOf } from '../../../delivery/broadcast/format-broadcast.ts';
import { html, type Html } from '../../../http/description/html.ts';
import type { HeldOrigin } from '../../../store/held-deletions.ts';
import type { OperatorContext } from '../../context.ts';
import { table, time, urlWith } from '../components.ts';
import { doneUrl } from '../done.ts';
import { audited, idField, textField } from '../forms.ts';
import { changes, pages, postForm, sendQuestion, type Question } from '../page.ts';
import { sessionOf } from '../require-session.ts';
import type { ConsoleSession } from '../sessions.ts';

const backUrl = pages['Push services'];

export function addHeldDeletionPages(app: FastifyInstance, { store }: OperatorContext): void {
  const find = async (asked: string): Promise<HeldOrigin | undefined> =>
    (await store.heldDeletions.list()).find(({ origin }) => origin === asked);

  app.get('/held-deletions/confirm', async (request, reply) => {
    const held = await find(textField(request.query, 'origin'));
    // decided in the meantime
    if (held === undefined) return reply.redirect(backUrl, 303);
    return sendQuestion(reply, toQuestion(held));
  });

  for (const [decision, deed] of [
    ['confirm', 'confirmed'],
    ['discard', 'discarded'],
  ] as const) {
    app.post(
      `/held-deletions/${decision}`,
      audited(`held-deletions.${decision}`, ({ body }) => `push service ${textField(body, 'origin')}`),
      async (request, reply) => {
        const origin = textField(request.body, 'origin');
        const agreedTo = idField(request.body, 'subscriptions') ?? Infinity;
        // more than was agreed to: it is asked again
        if (((await find(origin))?.subscriptions ?? 0) > agreedTo)
          return reply.redirect(urlWith('/console/held-deletions/confirm', { origin }), 303);
        const count = await store.heldDeletions[decision](origin);
        return reply.redirect(doneUrl(sessionOf(request), backUrl, deed, count), 303);
      },
    );
  }
}

function toQuestion({ origin, subscriptions }: HeldOrigin): Question {
  const count = countOf(subscriptions, 'subscription');
  return {
    title: `Delete ${count}?`,
    entry: 'Push services',
    consequence: html`${hostOf(origin)} calls them gone, and accepted almost nothing at the same time. Their
    browsers get nothing more until their pages register them again.`,
    button: `Delete ${count}`,
    fields: { origin, subscriptions: String(subscriptions) },
    backUrl,
  };
}

export function renderHeldDeletions(held: readonly HeldOrigin[], session: ConsoleSession): Html {
  return html`<p>
      These push services called subscriptions gone and accepted almost nothing at the same time. Delete them
      if the push service is right; keep them, and they stay in later audiences.
    </p>
    ${table(
      'Held deletions',
      { 'Push service': 'short', Subscriptions: 'number', Since: 'short', Decision: 'short' },
      held.map(({ origin, subscriptions, sinceMs }) => [
        hostOf(origin),
        formatCount(subscriptions),
        time(sinceMs),
        changes(
          session,
          html`${postForm(session, '/console/held-deletions/discard', 'Keep them', {
              style: 'small-button',
              fields: { origin },
            })}
            <a class="button small-button" href="${urlWith('/console/held-deletions/confirm', { origin })}">
              Delete them…
            </a>`,
        ),
      ]),
    )}`;
}
