// A line for each message, as `--log-messages` asks for: JSON on standard output with `--json`, else text on standard error.
import type { MessageRecord } from '../../delivery/message-log.ts';
import { hostOf } from '../../delivery/broadcast/format-broadcast.ts';
import type { Output } from './output.ts';

/** @param json whether the command prints JSON Lines */
export const printMessages =
  (output: Pick<Output, 'line' | 'diagnostic'>, json: boolean) =>
  (records: readonly MessageRecord[]): void => {
    for (const record of records) {
      if (json) void output.line(JSON.stringify(messageEvent(record)));
      else output.diagnostic(formatMessage(record));
    }
  };

/** As a record of the log. */
export const messageEvent = ({
  broadcastId: broadcast,
  subscriptionId: subscription,
  ...rest
}: MessageRecord) => ({
  event: 'message',
  broadcast,
  subscription,
  ...rest,
});

/** `Broadcast 7, subscription 17: rejected by fcm.googleapis.com, status 403, vapid-refused (attempt 1)` */
function formatMessage(record: MessageRecord): string {
  const { broadcastId, subscriptionId, pushService, outcome, attempt, status, reason } = record;
  const to =
    subscriptionId === undefined ? 'a subscription that is not stored' : `subscription ${subscriptionId}`;
  const what = [
    `${outcome} at ${hostOf(pushService)}`,
    ...(status === undefined ? [] : [`status ${status}`]),
    ...(reason === undefined ? [] : [reason]),
  ];
  return `${broadcastId === undefined ? 'Message' : `Broadcast ${broadcastId}`}, ${to}: ${what.join(', ')} (attempt ${attempt})`;
}
