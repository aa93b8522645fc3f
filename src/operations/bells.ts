// Bells: addresses with a secret that ring one audience with what is posted there.
import { checkExpression, checkName } from '../audience/user-and-tags.ts';
import { isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { findChannel } from '../delivery/broadcast/reader-options.ts';
import type { RecurringAudience } from '../delivery/schedule/create-schedule.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { type Schema, Type } from '../http/schema.ts';
import { readPayloadTexts } from '../protocol/message/read-message.ts';
import {
  type Bell,
  type BellRequest,
  bellOutcomes,
  type BellSettings,
  createBellSecret,
  hashBellSecret,
} from '../store/bells.ts';
import type { Store } from '../store/store.ts';
import { recurringAudienceSchema } from './audience.ts';
import { pushOptionSchemas } from './message.ts';
import { type NamedList, operation, type View } from './operation.ts';

/** RFC 6901 §3, but not the whole document. */
export const jsonPointer = /^(?:\/(?:[^~/]|~[01])*)+$/;

/** Names are written as tags are. */
const nameSchema = Type.String({ minLength: 1, format: 'channel-name' });
const moment = Type.String({ format: 'date-time' });

const pointer = (what: string, usual: string): Schema<string> =>
  Type.String({
    format: 'json-pointer',
    maxLength: 200,
    description: `Where ${what} is in JSON that is posted, as a JSON Pointer such as ${usual}. Default: what Deskbell recognises.`,
  });

const settings = {
  channel: Type.Optional(
    Type.String({ format: 'channel-name', description: 'Rings only readers who have this channel on.' }),
  ),
  title: Type.Optional(
    Type.String({
      format: 'channel-title',
      description: 'Title of what comes without one. Default: the name of the bell.',
    }),
  ),
  url: Type.Optional(
    Type.String({
      maxLength: 1000,
      format: 'link',
      description: 'What a click opens if what comes has no link of its own.',
    }),
  ),
  urgency: pushOptionSchemas.urgency,
  textFrom: Type.Optional(pointer('the text', '/alert/name')),
  titleFrom: Type.Optional(pointer('the title', '/alert/host')),
  urlFrom: Type.Optional(pointer('the link', '/links/0/href')),
};

/** The settings that are texts. */
export const bellTexts = ['title', 'url', 'urgency', 'textFrom', 'titleFrom', 'urlFrom'] as const;

const example = { audience: { user: 'me' }, title: 'Backups', urgency: 'high' };

const bellBody = Type.Model(
  'BellRequest',
  Type.Object(
    { name: nameSchema, audience: recurringAudienceSchema, ...settings },
    { additionalProperties: false, examples: [{ name: 'backups', ...example }] },
  ),
);

const members = {
  name: nameSchema,
  audience: recurringAudienceSchema,
  ...settings,
  createdAt: moment,
  lastRequestAt: Type.Optional(
    Type.String({ format: 'date-time', description: 'Absent: nothing was posted there yet.' }),
  ),
};

/** A bell, without its secret. */
const bellView: View<Bell> = {
  schema: Type.Model('Bell', Type.Object(members)),
  example: { name: 'backups', ...example, createdAt: '2027-01-01T09:00:00.000Z' },
  toJson: ({ id: _id, createdAtMs, lastRequestAtMs, ...bell }) => ({
    ...bell,
    createdAt: isoTime(createdAtMs),
    lastRequestAt: lastRequestAtMs === undefined ? undefined : isoTime(lastRequestAtMs),
  }),
};

/** A request to a bell, with the words that it was shown in, as long as its broadcast is kept. */
export interface ShownRequest extends BellRequest {
  readonly title?: string | undefined;
  readonly message?: string | undefined;
}

/** A bell and its last ten requests, newest first. */
export interface BellWithRequests extends Bell {
  readonly requests: readonly ShownRequest[];
}

const requestSchema = Type.Model(
  'RequestToBell',
  Type.Object({
    at: moment,
    tool: Type.String({ description: 'What sent it, as far as that was recognised, such as Alertmanager.' }),
    outcome: Type.String({
      enum: bellOutcomes,
      description:
        'rung: a broadcast was made. folded: counted in one with others, since more came in this minute than the limit. repeated: it ' +
        'came before. cancelled: what waited is not sent. nothing: there is nothing to show. refused: the answer was an error.',
    }),
    broadcast: Type.Optional(Type.Integer({ description: 'Id of the broadcast.' })),
    title: Type.Optional(Type.String({ description: 'As it was sent, while the broadcast is kept.' })),
    message: Type.Optional(Type.String()),
    leftOut: Type.Optional(Type.String({ description: 'What of the request was not sent.' })),
    shape: Type.Optional(
      Type.String({ description: 'Members and types of JSON that was not understood, without values.' }),
    ),
  }),
);

export const bellWithRequestsView: View<BellWithRequests> = {
  schema: Type.Model(
    'BellWithRequests',
    Type.Object({ ...members, requests: Type.Array(requestSchema, { description: 'The last ten.' }) }),
  ),
  example: {
    ...bellView.example,
    requests: [
      {
        at: '2027-01-01T09:00:00.000Z',
        tool: 'Text',
        outcome: 'rung',
        broadcast: 7,
        title: 'Backups',
        message: 'Backups are done',
      },
    ],
  },
  toJson: ({ requests, ...bell }) => ({
    ...bellView.toJson(bell),
    requests: requests.map(({ atMs, broadcastId, ...request }) => ({
      at: isoTime(atMs),
      ...request,
      broadcast: broadcastId,
    })),
  }),
};

/** @throws {DeskbellError} ERR_BELL_NOT_FOUND */
export async function showBell(
  { bells, broadcasts }: Pick<Store, 'bells' | 'broadcasts'>,
  name: string,
): Promise<BellWithRequests> {
  const bell = await bells.get(name);
  const requests = await bells.requests(bell.id);
  const kept = await broadcasts.findAll(requests.flatMap(({ broadcastId }) => broadcastId ?? []));
  const texts = new Map(kept.map(({ id, payload }) => [id, readPayloadTexts(payload)]));
  return {
    ...bell,
    requests: requests.map((request) => ({ ...request, ...texts.get(request.broadcastId ?? 0) })),
  };
}

/** What is shown once. */
export interface NewSecret {
  readonly name: string;
  readonly secret: string;
}

/** Bells are mounted there on the operator's listener. */
export const bellsPath = '/ring';

const secretView: View<NewSecret> = {
  schema: Type.Model(
    'BellSecret',
    Type.Object({
      name: nameSchema,
      secret: Type.String({ description: 'Shown only in this answer.' }),
      path: Type.String({ description: 'The address, from the root of the listener on.' }),
    }),
  ),
  example: { name: 'backups', secret: 'A3kJd0qWx_81mZe', path: `${bellsPath}/A3kJd0qWx_81mZe` },
  toJson: (made) => ({ ...made, path: `${bellsPath}/${made.secret}` }),
};

export const bellParams = {
  name: Type.String({ minLength: 1, format: 'channel-name', description: 'The bell, percent-encoded.' }),
};

const ofOne = {
  tag: 'Sending',
  params: bellParams,
  target: ({ name }: { readonly name: string }) => `bell ${name}`,
};

export const listBells: NamedList<Bell> = {
  path: '/v1/bells',
  tag: 'Sending',
  operationId: 'listBells',
  summary: 'Bells: addresses that ring an audience with what is posted there',
  view: bellView,
  nameOf: ({ name }) => name,
  read: ({ store }) => store.bells.list(),
};

export type NewBell = { readonly name: string; readonly audience: RecurringAudience } & BellSettings;

export const addBell = operation({
  route: 'POST /v1/bells',
  tag: 'Sending',
  operationId: 'addBell',
  summary: 'Makes a bell',
  description: 'The answer has its secret, which is shown this once: only its hash is stored.',
  body: bellBody,
  answer: secretView,
  errors: ['ERR_BELL_EXISTS', 'ERR_CHANNEL_NOT_FOUND', 'ERR_FIELD_VALUE', 'ERR_FIELD_TYPE'],
  action: 'bell.add',
  target: ({ name }) => `bell ${name}`,
  run: async ({ store }, { name: given, audience, ...rest }: NewBell): Promise<NewSecret> => {
    const name = checkName(given, '/name', 'The name of a bell');
    await findChannel(rest.channel, store);
    const secret = createBellSecret();
    await store.bells.add({
      name,
      audience: audience === 'all' ? audience : checkExpression(audience),
      ...rest,
      secretHash: hashBellSecret(secret),
    });
    return { name, secret };
  },
});

export const rotateBell = operation({
  ...ofOne,
  route: 'POST /v1/bells/:name/rotate',
  operationId: 'rotateBell',
  summary: 'Gives a bell another secret',
  description:
    'The former one rings nothing from then on. The answer has the new one, which is shown this once.',
  answer: secretView,
  errors: ['ERR_BELL_NOT_FOUND'],
  action: 'bell.rotate',
  run: async ({ store }, { name }): Promise<NewSecret> => {
    const secret = createBellSecret();
    await store.bells.rotate(name, hashBellSecret(secret));
    return { name, secret };
  },
});

export const removeBell = operation({
  ...ofOne,
  route: 'DELETE /v1/bells/:name',
  operationId: 'removeBell',
  summary: 'Removes a bell',
  description: 'Its address rings nothing from then on. Broadcasts that it has made stay.',
  errors: ['ERR_BELL_NOT_FOUND'],
  action: 'bell.remove',
  run: async ({ store }, { name }) => {
    if (await store.bells.remove(name)) return;
    throw new DeskbellError('ERR_BELL_NOT_FOUND', `There is no bell ${name}.`);
  },
});
