// `deskbell send --dry-run`: what would be sent and to how many. Nothing is stored, nothing leaves the machine.
import { formatAudience, formatCount } from '../../delivery/broadcast/format-broadcast.ts';
import type { Audience } from '../../delivery/broadcast/audience.ts';
import { countAudience } from '../../delivery/broadcast/count-audience.ts';
import { encodePayload } from '../../protocol/message/encode-payload.ts';
import { receiptMemberBytes } from '../../protocol/message/receipt-token.ts';
import type { Message } from '../../protocol/message/message.ts';
import { maxPlaintextBytes } from '../../protocol/message-encryption.ts';
import { checkBroadcastOptions, type BroadcastOptions } from '../../delivery/broadcast/create-broadcast.ts';
import type { Store } from '../../store/store.ts';
import type { JsonFlag, Output } from '../output/output.ts';

/**
 * Checks the message and its options as sending does, and prints the size of the audience and the payload.
 *
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE, and what reading the audience throws
 */
export async function printDryRun(
  audience: Audience,
  message: Message,
  options: BroadcastOptions,
  { subscriptions, now }: Pick<Store, 'subscriptions' | 'now'>,
  output: Output,
  { json }: JsonFlag,
): Promise<void> {
  const { receipts: isWithReceipts = false } = options;
  const payload = encodePayload(message, undefined, { isWithReceipts });
  const payloadText = Buffer.from(payload).toString();
  checkBroadcastOptions(options, now());
  const count = await countAudience(audience, subscriptions);
  if (json) {
    const shown = JSON.parse(payloadText) as unknown;
    const fields = { recipients: count, payloadBytes: payload.length, payload: shown };
    return output.line(JSON.stringify({ event: 'dry-run', ...fields }));
  }
  const recipients = formatAudience(count);
  await output.line(
    `Would be sent to ${recipients}; nothing was sent. The payload has ${formatCount(payload.length)} of ` +
      `at most ${formatCount(maxPlaintextBytes - (isWithReceipts ? receiptMemberBytes : 0))} bytes:`,
  );
  await output.line(payloadText);
}
