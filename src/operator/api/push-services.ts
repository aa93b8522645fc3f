// GET /v1/push-services: the current state of sending to each push service. GET /v1/senders: the active senders.
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { Optional, Type } from '../../http/schema.ts';
import type { StoredSenderReport } from '../../store/sending.ts';
import type { NamedList, View } from '../../operations/operation.ts';
import { readPushServices, type PushServiceView } from '../push-services.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });

const pushServiceView: View<PushServiceView> = {
  schema: Type.Named('PushService', {
    origin: Type.String(),
    senders: count('Senders that use the push service now. The figures are totals over all of them.'),
    connections: count('Open connections.'),
    inFlight: count('Messages that were sent and have no response yet.'),
    queued: count('Messages that wait for their turn.'),
    maxInFlight: count('Maximum number of messages in flight now.'),
    latencyMs: Optional.Unsafe<number>({
      type: 'number',
      description: 'Latency of recent responses to the slowest sender, in milliseconds.',
    }),
    answers: count('Responses since the senders started.'),
    throttled: count('Responses that asked for fewer messages (429, 503).'),
    breaker: Type.String({
      enum: ['closed', 'half-open', 'open'],
      description:
        'open: the push service has failed, and nothing is sent to it for a while. half-open: one message tests the push service.',
    }),
    breakerReason: Optional.String(),
    unreachableMs: Type.Optional(
      count(
        'For how long all attempts of a sender have failed without a response, in milliseconds. Absent if the push service can be reached.',
      ),
    ),
    refusedKeys: Type.Array(Type.String(), {
      description:
        'VAPID public keys that the push service refuses for every message. Messages with these keys are held back.',
    }),
    heldDeletions: count('Deletions that wait for a decision.'),
  }),
  toJson: (pushService) => pushService,
};

const senderView: View<StoredSenderReport> = {
  schema: Type.Named('Sender', {
    id: Type.String({ examples: ['5a0d9a0e-3f0d-4a0b-9f43-6c7c0e0d6f11'] }),
    machine: Type.String(),
    processId: Type.Integer(),
    kind: Type.String({
      enum: ['worker', 'single'],
      description: 'A worker delivers broadcasts. A sender of the kind single sends single messages.',
    }),
    startedAt: Type.Time(),
    seenAt: Type.Time(),
  }),
  toJson: ({ id, machine, processId, kind, startedAtMs, seenAtMs }) => ({
    id,
    machine,
    processId,
    kind,
    startedAt: isoTime(startedAtMs),
    seenAt: isoTime(seenAtMs),
  }),
};

export const listPushServices: NamedList<PushServiceView> = {
  path: '/v1/push-services',
  tag: 'Push services',
  operationId: 'listPushServices',
  summary: 'Lists the push services with the current state of sending',
  description:
    'The figures cover all senders on this store, in all processes. They are a few seconds old at most. The list omits push ' +
    'services to which nobody sends, unless they refuse a key or have held deletions.',
  view: pushServiceView,
  nameOf: ({ origin }) => origin,
  read: ({ store }) => readPushServices(store),
};

export const listSenders: NamedList<StoredSenderReport> = {
  path: '/v1/senders',
  tag: 'Push services',
  operationId: 'listSenders',
  summary: 'Lists the active senders',
  view: senderView,
  nameOf: ({ id }) => id,
  read: ({ store }) => store.senders.list(),
};
