// Sending: a message is composed, looked at with the number of its recipients, and only then sent.
import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { checkBroadcastOptions } from '../../../delivery/broadcast/create-broadcast.ts';
import { countAudience } from '../../../delivery/broadcast/count-audience.ts';
import type { SubscriptionInput } from '../../../delivery/sender.ts';
import { formatCount } from '../../../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../../../errors/deskbell-error.ts';
import { html, type Html } from '../../../http/description/html.ts';
import { sendJson } from '../../../http/json-text.ts';
import { encodePayload } from '../../../protocol/message/encode-payload.ts';
import type { OperatorContext } from '../../context.ts';
import { sendMessage } from '../../send-message.ts';
import { sessionOf } from '../require-session.ts';
import { card, facts, notice, timeFromNow } from '../components.ts';
import { renderComposer } from '../composer.ts';
import { textField, type Fields } from '../forms.ts';
import { readFields, toAudience, toMessage, toOptions } from '../message-form.ts';
import { postForm, sendPage } from '../page.ts';
import { renderPreview } from '../preview.ts';
import type { ConsoleSession } from '../sessions.ts';

/** A message has at most 4 kB, three times that in a form; the rest is for a list of ids. */
const bodyLimit = 64 * 1024;
/** A form that is longer is not shown again with what is wrong: the browser still has it. */
const maxShownCharacters = 8192;

export function addSendPages(app: FastifyInstance, parts: OperatorContext): void {
  const { store, sender } = parts;

  const sendComposer = async (reply: FastifyReply, session: ConsoleSession, fields: Fields, fault?: string) =>
    sendPage(reply.code(fault === undefined ? 200 : 400), session, {
      title: 'Send',
      entry: 'Send',
      content: session.mayChange
        ? renderComposer({ fields, fault, vapidPublicKey: await store.vapidKeys.current() }, session)
        : notice('warn', 'You may look, and not send', html`<p>Your token has the role “read”.</p>`),
    });

  app.get('/send', async (request, reply) =>
    sendComposer(reply, sessionOf(request), {
      ...readFields(request.query),
      // Sent twice by accident, it makes one broadcast.
      idempotencyKey: randomUUID(),
    }),
  );

  app.post('/send', { bodyLimit, config: { audit: 'none' } }, async (request, reply) => {
    const session = sessionOf(request);
    const fields = readFields(request.body);
    if (textField(request.body, 'step') === 'edit') return sendComposer(reply, session, fields);
    try {
      const review = await readReview(fields, parts);
      return await sendPage(reply, session, {
        title: 'Review and send',
        entry: 'Send',
        content: renderReview(fields, review, session),
      });
    } catch (error) {
      return sendComposer(reply, session, fields, faultToShow(error, fields));
    }
  });

  app.post(
    '/send/confirm',
    { bodyLimit, config: { audit: { action: 'broadcast.create' } } },
    async (request, reply) => {
      const fields = readFields(request.body);
      try {
        const { operator } = sessionOf(request);
        const { broadcast } = await sender.createBroadcast(toAudience(fields), toMessage(fields), {
          ...toOptions(fields),
          createdBy: { operator: operator.name },
        });
        request.auditTarget = `broadcast ${broadcast.id}`;
        return await reply.redirect(`/console/broadcasts/${broadcast.id}`, 303);
      } catch (error) {
        return sendComposer(reply, sessionOf(request), fields, faultToShow(error, fields));
      }
    },
  );

  // Asked by the script of the page; the subscription is that of this browser, and is not stored.
  app.post(
    '/send/test',
    { bodyLimit, config: { audit: { action: 'message.send' } } },
    async (request, reply) => {
      const fields = readFields(request.body);
      const { ttlSeconds, urgency, topic } = toOptions(fields);
      request.auditTarget = 'subscription';
      try {
        const subscription = JSON.parse(textField(request.body, 'subscription')) as SubscriptionInput;
        const { items } = await sendMessage(parts, { subscription }, toMessage(fields), {
          ttlSeconds,
          urgency,
          topic,
        });
        return await sendJson(reply, items[0]);
      } catch (error) {
        const detail =
          error instanceof DeskbellError || error instanceof SyntaxError ? error.message : undefined;
        if (detail === undefined) throw error;
        return sendJson(reply.code(400), { detail });
      }
    },
  );
}

/** @throws what is not to be shown beside the form */
function faultToShow(error: unknown, fields: Fields): string {
  const characters = Object.values(fields).reduce((sum, text) => sum + text.length, 0);
  if (error instanceof DeskbellError && characters <= maxShownCharacters) return error.message;
  throw error;
}

type Review = Awaited<ReturnType<typeof readReview>>;

/** @throws {DeskbellError} what sending would throw */
async function readReview(fields: Fields, { store }: OperatorContext) {
  const options = toOptions(fields);
  checkBroadcastOptions(options, store.now());
  const payload = encodePayload(toMessage(fields), undefined, { isWithReceipts: options.receipts ?? false });
  return {
    recipients: await countAudience(toAudience(fields), store.subscriptions),
    payloadBytes: payload.length,
    payload: Buffer.from(payload).toString(),
    startAt: options.startAt,
  };
}

function renderReview(
  fields: Fields,
  { recipients, payloadBytes, payload, startAt }: Review,
  session: ConsoleSession,
): Html {
  const number = `${formatCount(recipients)} ${recipients === 1 ? 'subscription' : 'subscriptions'}`;
  return html`<div class="columns">
    ${card(
      'What is sent',
      html`${renderPreview(fields)}
        <details>
          <summary>Payload, ${formatCount(payloadBytes)} bytes</summary>
          <pre>${payload}</pre>
        </details>`,
    )}
    ${card(
      'To whom, and when',
      html`${facts([
          ['Recipients', html`<strong>${number}</strong>`],
          ['Audience', describeAudience(fields)],
          ['Start', startAt === undefined ? 'now' : timeFromNow(startAt.getTime())],
        ])}
        ${recipients === 0 && notice('warn', 'Nobody would get this message.')}
        <div class="buttons">
          ${postForm(
            session,
            '/console/send/confirm',
            `${startAt === undefined ? 'Send to' : 'Schedule for'} ${number}`,
            { style: 'primary', fields },
          )}
          ${postForm(session, '/console/send', 'Back to editing', { fields: { ...fields, step: 'edit' } })}
        </div>`,
    )}
  </div>`;
}

function describeAudience(fields: Fields): string {
  switch (fields['audience']) {
    case 'user':
      return `devices of the user ${fields['user']}`;
    case 'tags':
      return [
        ['all of', fields['tagsAll']],
        ['one of', fields['tagsAny']],
        ['none of', fields['tagsNone']],
      ]
        .filter(([, tags]) => tags)
        .map((part) => part.join(' '))
        .join(', ');
    case 'ids':
      return `ids ${fields['ids']}`;
    default:
      return 'every subscription';
  }
}
