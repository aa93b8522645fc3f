// Sending: the operator writes a message, reviews it and its number of recipients, and sends it, perhaps to a test
// group first.
import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { checkBroadcastOptions } from '../../../delivery/broadcast/create-broadcast.ts';
import { createAudienceEstimator } from '../../../delivery/broadcast/estimate-audience.ts';
import { countReadersOf } from '../../../delivery/broadcast/count-readers.ts';
import { forecast } from '../../../delivery/broadcast/forecast.ts';
import type { SubscriptionInput } from '../../../delivery/sender.ts';
import { DeskbellError } from '../../../errors/deskbell-error.ts';
import { html, type Html, htmlText } from '../../../http/description/html.ts';
import { sendJson } from '../../../http/json-body.ts';
import type { sentMessageToJson } from '../../../operations/message.ts';
import { encodePayload } from '../../../protocol/message/encode-payload.ts';
import type { OperatorContext } from '../../context.ts';
import { sendMessage } from '../../send-message.ts';
import { type ConsoleSession, sessionOf } from '../sessions.ts';
import { notice } from '../components.ts';
import { renderComposer } from '../composer.ts';
import { describeDraft, duplicate, type Duplicate, toFaults } from '../draft.ts';
import { renderFaults } from '../form-fields.ts';
import { toStart } from '../local-time-input.ts';
import { counted, figure } from '../figures.ts';
import { idField, textField, type Fields } from '../forms.ts';
import { addLanguage, removeLanguage } from '../languages.ts';
import {
  initialFields,
  readFields,
  toAudience,
  toSentMessage,
  toOptions,
  toTestGroup,
  toTestOptions,
} from '../message-form.ts';
import { broadcastLink, sendPage } from '../page.ts';
import { renderReview, type Review } from '../review.ts';
import { findShownReader, showMessage } from '../preview.ts';

/** In bytes. A text of 4 kB can take 12 kB in a form, which may have several texts and a list of ids. */
const bodyLimit = 256 * 1024;
/** A longer form is not repeated in the response that shows its errors; the browser still has the form. */
const maxRepeatedCharacters = 32 * 1024;
const maxSuggestions = 200;
/** Audiences up to this size are counted in a fraction of a second. Larger audiences are estimated by default. */
const reviewCandidates = 100_000;
/** For larger audiences, the numbers by language and time zone are estimated from a sample of about this size. */
const reviewRows = 10_000;

export function addSendPages(app: FastifyInstance, parts: OperatorContext): void {
  const { store, sender } = parts;
  const estimator = createAudienceEstimator(store);

  /** @param error the reason why the form was refused; all errors are shown above the form and beside its fields */
  const sendComposer = async (
    reply: FastifyReply,
    session: ConsoleSession,
    fields: Fields,
    { error, done }: { readonly error?: DeskbellError; readonly done?: Html | undefined } = {},
  ) => {
    const { faults: known, ...draft } = await describeDraft(fields, estimator, store);
    const faults = error === undefined ? {} : { ...known, ...toFaults(error, fields) };
    const form = {
      ...draft,
      fields,
      channels: await store.channels.list(),
      faults,
      notice:
        error === undefined ? done : renderFaults(faults, error.fields.length === 0 ? error.message : ''),
      vapidPublicKey: await store.vapidKeys.current(),
      ...(await estimator.topTags(maxSuggestions)),
    };
    const content = renderComposer(form, session);
    return sendPage(reply.code(error === undefined ? 200 : 400), {
      title: 'Send',
      isForChange: true,
      content,
    });
  };

  /** Handles a form. If the form is refused, the composer is shown with the reasons. */
  const orComposer =
    (work: (fields: Fields, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const fields = readFields(request.body);
      try {
        return await work(fields, request, reply);
      } catch (error) {
        const characters = Object.values(fields).reduce((sum, text) => sum + text.length, 0);
        if (!(error instanceof DeskbellError) || characters > maxRepeatedCharacters) throw error;
        return sendComposer(reply, sessionOf(request), fields, { error });
      }
    };

  /** @throws {DeskbellError} the errors that sending would throw */
  const readReview = async (fields: Fields, isTest: boolean, isCounted: boolean): Promise<Review> => {
    const audience = isTest ? toTestGroup(fields) : toAudience(fields);
    const audienceSize = await estimator.estimate(audience, isCounted ? Infinity : reviewCandidates);
    const message = toSentMessage(fields);
    const nowMs = store.now();
    const options = isTest
      ? toTestOptions(fields)
      : { ...toOptions(fields), startAt: toStart(fields, nowMs) };
    checkBroadcastOptions(options, nowMs);
    const { receipts: isWithReceipts = false, channel, startAt } = options;
    const maxRows = isCounted ? Infinity : reviewRows;
    const readers = await countReadersOf(audience, message, options, store, audienceSize, maxRows);
    return {
      audience,
      audienceSize,
      isTest,
      payload: encodePayload(message, undefined, { isWithReceipts, channel }),
      startAt,
      nowMs,
      shown: await showMessage(fields, store.readers),
      readers,
      forecast: await forecast(
        store,
        Math.round((readers?.reached ?? audienceSize).count),
        readers?.throughMs ?? startAt?.getTime(),
      ),
    };
  };

  app.get('/send', async (request, reply) => {
    const from = idField(request.query, 'from');
    const { fields, done }: Partial<Duplicate> =
      from === undefined ? {} : await duplicate(await store.broadcasts.get(from), store.broadcasts);
    return sendComposer(reply, sessionOf(request), { ...initialFields(request.query), ...fields }, { done });
  });

  app.post(
    '/send',
    { bodyLimit, config: { audit: 'none' } },
    orComposer(async (fields, request, reply) => {
      const session = sessionOf(request);
      const step = textField(request.body, 'step');
      if (step === 'edit') return sendComposer(reply, session, fields);
      if (step.startsWith('without '))
        return sendComposer(reply, session, removeLanguage(fields, step.slice('without '.length)));
      if (step === 'language' || fields['newLanguage'])
        return sendComposer(reply, session, addLanguage(fields));
      const isTest = step === 'test';
      const review = await readReview(fields, isTest, step === 'count');
      const title = isTest ? 'Send to the test group' : 'Review and send';
      return sendPage(reply, { title, entry: 'Send', content: renderReview(fields, review, session) });
    }),
  );

  // The page's script calls this while the form is filled in.
  app.post('/send/draft', { bodyLimit, config: { audit: 'none' } }, async (request, reply) => {
    const { previews, ...draft } = await describeDraft(readFields(request.body), estimator, store);
    return sendJson(reply, { ...draft, previews: htmlText(previews) });
  });

  app.post(
    '/send/confirm',
    { bodyLimit, config: { audit: { action: 'broadcast.create' } } },
    orComposer(async (fields, request, reply) => {
      const { broadcast } = await sender.createBroadcast(toAudience(fields), toSentMessage(fields), {
        ...toOptions(fields),
        createdBy: { operator: sessionOf(request).operator.name },
      });
      request.auditTarget = `broadcast ${broadcast.id}`;
      return reply.redirect(`/console/broadcasts/${broadcast.id}`, 303);
    }),
  );

  app.post(
    '/send/test-group',
    { bodyLimit, config: { audit: { action: 'broadcast.create' } } },
    orComposer(async (fields, request, reply) => {
      const session = sessionOf(request);
      const { broadcast } = await sender.createBroadcast(toTestGroup(fields), toSentMessage(fields), {
        ...toTestOptions(fields),
        createdBy: { operator: session.operator.name },
        idempotencyKey: textField(request.body, 'testKey') || randomUUID(),
      });
      request.auditTarget = `broadcast ${broadcast.id}`;
      const { id, recipients } = broadcast;
      const done = notice(
        'good',
        `Sent to the test group: ${figure('broadcast.recipients', recipients, id, counted('subscription'))} with the tag ${fields['testTag']}`,
        html`<p>
          ${broadcastLink(id, 'Broadcast ')} shows what came of it. Nobody else has got the message yet.
        </p>`,
      );
      return sendComposer(reply, session, fields, { done });
    }),
  );

  // The page's script posts the subscription of the operator's browser here for a test. The subscription is not stored.
  app.post(
    '/send/test',
    { bodyLimit, config: { audit: { action: 'message.send' } } },
    async (request, reply) => {
      const fields = readFields(request.body);
      request.auditTarget = 'subscription';
      try {
        const { ttlSeconds, urgency, topic } = toOptions(fields);
        const subscription = JSON.parse(textField(request.body, 'subscription')) as SubscriptionInput;
        const { items } = await sendMessage(parts, { subscription }, toSentMessage(fields), {
          ttlSeconds,
          urgency,
          topic,
          reader: await findShownReader(fields, store.readers),
        });
        return await sendJson(reply, { said: describeSent(items[0]!) });
      } catch (error) {
        const detail =
          error instanceof DeskbellError || error instanceof SyntaxError ? error.message : undefined;
        if (detail === undefined) throw error;
        return sendJson(reply.code(400), { said: `It was not sent: ${detail}` });
      }
    },
  );
}

type SentMessage = ReturnType<typeof sentMessageToJson>;

function describeSent({ outcome, pushService, status, detail }: SentMessage): string {
  if (outcome === 'accepted') return `${pushService} took the message. It shows here in a moment.`;
  return `${pushService} answered ${status ?? 'nothing'}: ${outcome}${detail ? ` (${detail})` : ''}.`;
}
