// What became of one message, as it is shown.
import type { SendResult } from '../delivery/sender.ts';
import { Type } from '../http/schema.ts';

/** The form of what `sentMessageToJson` gives. */
export const sentMessageSchema = Type.Model(
  'SentMessage',
  Type.Object({
    id: Type.Optional(Type.Integer()),
    pushService: Type.String(),
    outcome: Type.String({
      enum: ['accepted', 'gone', 'retry', 'rejected'],
      description:
        'accepted: the push service took the message. gone: the subscription has ended. retry: may be accepted later. rejected: ' +
        'will not be accepted as it is.',
    }),
    status: Type.Optional(Type.Integer({ description: 'HTTP status of the push service’s answer.' })),
    reason: Type.Optional(Type.String()),
    detail: Type.Optional(Type.String({ description: 'The push service’s own words.' })),
    retryAfterSeconds: Type.Optional(Type.Integer()),
  }),
);

/** @param id absent for a subscription that was given with the request */
export function sentMessageToJson(
  id: number | undefined,
  endpoint: string,
  { outcome, response }: SendResult,
) {
  // The message's URL is a capability, as the endpoint is, and is not shown.
  const { reason, detail, afterMs }: { kind: string; reason?: string; detail?: string; afterMs?: number } =
    outcome;
  return {
    id,
    pushService: new URL(endpoint).origin,
    outcome: outcome.kind,
    status: response?.status,
    reason,
    detail,
    retryAfterSeconds: afterMs === undefined ? undefined : Math.ceil(afterMs / 1000),
  };
}
