// POST /webPush/receipts accepts reports from service workers: a notification was shown, clicked or dismissed. A token
// from the payload proves that the reporter got the notification. The response does not reveal what was counted.
import { createReceiptTokenReader, receiptTokenPattern } from '../../protocol/message/receipt-token.ts';
import { receiptEvents, type Receipt } from '../../store/receipts.ts';
import { type Operation } from '../../http/description/operation.ts';
import { Optional, type ServiceApp, Type } from '../../http/schema.ts';
import type { Settings } from '../options.ts';
import { defaultReceiptsPerMinute, limitPerMinute } from '../../http/client-limits.ts';

const maxReceipts = 100;
const pruneIntervalMs = 60 * 60 * 1000;

const operation: Operation = {
  operationId: 'reportReceipts',
  tag: 'Web Push',
  summary: 'Accepts browsers’ reports on notifications',
  description:
    'Each report counts once. A report changes nothing if its token is not valid, if it came before, or if its message or subscription is no longer ' +
    'counted. The response does not reveal whether it counted.',
  responses: { 204: { description: 'All reports that count are stored durably.' } },
  errors: ['ERR_RATE_LIMITED', 'ERR_STORE_UNAVAILABLE'],
};

const body = Type.Named(
  'Receipts',
  {
    receipts: Type.Array(
      Type.Named('Receipt', {
        token: Type.String({
          description: 'The member `receipt` of the payload.',
          pattern: receiptTokenPattern,
          format: 'receipt-token',
        }),
        event: Type.Enum(receiptEvents),
        action: Optional.String({
          description: 'With `clicked`: the name of the action that was clicked, if any.',
        }),
      }),
      { maxItems: maxReceipts },
    ),
  },
  {
    examples: [
      { receipts: [{ token: 'AAAAAAAHAAAAABJnaFjv9GcTqKKYyO7lbDHvIA', event: 'clicked', action: 'open' }] },
    ],
  },
);

export function addReceiptRoute(app: ServiceApp, settings: Settings): void {
  const { store, receiptKey, receiptsPerMinute = defaultReceiptsPerMinute } = settings;
  if (receiptKey === undefined) return;
  const readToken = createReceiptTokenReader(receiptKey);

  app.post(
    '/webPush/receipts',
    {
      schema: { body },
      config: { operation, rateLimit: limitPerMinute(receiptsPerMinute, 'report') },
    },
    async (request, reply) => {
      const receipts = request.body.receipts.flatMap(({ token, event, action }): Receipt[] => {
        const subject = readToken(token);
        return subject === undefined ? [] : [{ ...subject, event, action }];
      });
      if (receipts.length > 0) await store.receipts.add(receipts);
      return reply.code(204).send();
    },
  );
  pruneNowAndThen(app, settings);
}

/** Deletes reports that are no longer needed, in batches, until the service is closed. */
function pruneNowAndThen(app: ServiceApp, { store, log }: Settings): void {
  const closing = new AbortController();
  let pruning = Promise.resolve();
  const pruneAll = async (): Promise<void> => {
    try {
      while (!closing.signal.aborted && (await store.receipts.prune()));
    } catch (error) {
      log.error({ event: 'fault', error });
    }
  };
  const prune = (): void => {
    pruning = pruning.then(pruneAll);
  };
  const timer = setInterval(prune, pruneIntervalMs).unref();
  app.addHook('onReady', async () => prune());
  app.addHook('onClose', async () => {
    closing.abort();
    clearInterval(timer);
    await pruning;
  });
}
