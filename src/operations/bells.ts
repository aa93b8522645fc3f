// Bells: secret addresses whose requests become notifications for one audience.
import { checkExpression, checkName } from '../audience/user-and-tags.ts';
import { formatAskedAudience, isoTime, isoTimeOf } from '../delivery/broadcast/format-broadcast.ts';
import { findChannel } from '../delivery/broadcast/reader-options.ts';
import type { RecurringAudience } from '../delivery/schedule/create-schedule.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { Optional, Type } from '../http/schema.ts';
import { bellsPath } from '../http/unknown-paths.ts';
import { readPayloadTexts } from '../protocol/message/read-message.ts';
import { urgencies } from '../protocol/request.ts';
import {
  type Bell,
  type BellRequest,
  bellOutcomes,
  type BellSettings,
  createBellSecret,
  hashBellSecret,
} from '../store/bells.ts';
import type { Broadcast } from '../store/broadcasts.ts';
import type { Store } from '../store/store.ts';
import { recurringAudienceSchema } from './audience.ts';
import { type NamedList, operation, type View } from './operation.ts';

/** A JSON Pointer (RFC 6901 §3), but not the empty pointer, which stands for the whole document. */
export const jsonPointer = /^(?:\/(?:[^~/]|~[01])*)+$/;

/** Names follow the rules for tags. */
const nameSchema = Type.String({ minLength: 1, format: 'bell-name' });

interface Setting {
  readonly label: string;
  /** What the usage text shows in place of the flag's value. */
  readonly value: string;
  readonly description: string;
  readonly keywords: Readonly<Record<string, unknown>>;
}

const pointer = (what: string, usual: string): Setting => ({
  label: `JSON Pointer to the ${what}`,
  value: 'pointer',
  description: `The place of the ${what} in JSON, such as ${usual} (RFC 6901). Default: Deskbell looks for it.`,
  keywords: { format: 'json-pointer', maxLength: 200 },
});

/** The settings of a bell. The API's members, the flags of `bells add` and the console's fields are made from them. */
export const bellSettings: Readonly<Record<keyof BellSettings, Setting>> = {
  channel: {
    label: 'Channel',
    value: 'name',
    description: 'Rings only readers who have switched on this channel.',
    keywords: { format: 'channel-name' },
  },
  title: {
    label: 'Title',
    value: 'text',
    description: 'The title for requests that have no title. Default: the bell’s name.',
    keywords: { format: 'channel-title' },
  },
  url: {
    label: 'Link',
    value: 'url',
    description: 'The URL that a click opens if the request has no link.',
    keywords: { format: 'link', maxLength: 1000 },
  },
  urgency: {
    label: 'Urgency',
    value: 'urgency',
    description: 'The urgency for requests that have no urgency: very-low, low, normal or high.',
    keywords: { enum: urgencies },
  },
  textFrom: pointer('text', '/alert/name'),
  titleFrom: pointer('title', '/alert/host'),
  urlFrom: pointer('link', '/links/0/href'),
};
export const bellSettingNames = Object.keys(bellSettings) as readonly (keyof BellSettings)[];

export const describeRung = ({ audience, channel }: Bell): string =>
  formatAskedAudience(audience) + (channel === undefined ? '' : ` with the channel ${channel} on`);

const example = { name: 'backups', audience: { user: 'me' }, title: 'Backups', urgency: 'high' };

const given = {
  name: nameSchema,
  audience: recurringAudienceSchema,
  ...Object.fromEntries(
    Object.entries(bellSettings).map(([name, { description, keywords }]) => [
      name,
      Optional.String({ description, ...keywords }),
    ]),
  ),
};

export type NewBell = { readonly name: string; readonly audience: RecurringAudience } & BellSettings;

const bellBody = Type.Model<NewBell>(
  'BellRequest',
  Type.Object(given, { additionalProperties: false, examples: [example] }),
);

const members = {
  ...given,
  createdAt: Type.Time(),
  lastRequestAt: Optional.Time('Absent if nothing was posted yet.'),
};

/** A bell (an address to which tools post notifications), without its secret. */
const bellView: View<Bell> = {
  schema: Type.Named('Bell', members),
  toJson: ({ id: _id, createdAtMs, lastRequestAtMs, ...bell }) => ({
    ...bell,
    createdAt: isoTime(createdAtMs),
    lastRequestAt: isoTimeOf(lastRequestAtMs),
  }),
};

/**
 * A request that a tool sent to a bell, an address that turns requests into notifications. Includes the notification's
 * text if the broadcast that the request created is still stored.
 */
export interface ShownRequest extends BellRequest {
  readonly title?: string | undefined;
  readonly message?: string | undefined;
  /** Why the broadcast reached nobody; absent if it reached somebody. */
  readonly reachedNobody?: string | undefined;
}

/** Remarks on a request in addition to its outcome, each with a label and a text. */
export const remarksOf = ({
  outcome,
  leftOut,
  shape,
  reachedNobody,
}: ShownRequest): readonly (readonly [label: string, text: string])[] => [
  ...(reachedNobody === undefined ? [] : [['reached nobody', reachedNobody] as const]),
  ...(leftOut === undefined
    ? []
    : [[/^(?:refused|nothing)$/.test(outcome) ? 'because' : 'left out', leftOut] as const]),
  ...(shape === undefined ? [] : [['not understood', shape] as const]),
];

/** A bell and the last ten requests to its address, newest first. */
export interface BellWithRequests extends Bell {
  readonly requests: readonly ShownRequest[];
}

const requestSchema = Type.Named('RequestToBell', {
  at: Type.Time(),
  tool: Type.String({
    description:
      'The tool that sent the request, such as Alertmanager. Absent if the tool was not recognised.',
  }),
  outcome: Type.String({
    enum: bellOutcomes,
    description:
      'rung: the request created a broadcast. folded: one broadcast counts several requests, since more came in this minute than ' +
      'the limit allows. repeated: the same request came before. cancelled: the message that waited is not sent. nothing: the ' +
      'request contains nothing to show. refused: the response was an error.',
  }),
  broadcast: Optional.Integer({ description: 'The id of the broadcast.' }),
  title: Optional.String({ description: 'The title that was sent, as long as the broadcast is kept.' }),
  message: Optional.String(),
  reachedNobody: Optional.String({
    description: 'Why the broadcast reached nobody, such as: nobody is subscribed.',
  }),
  leftOut: Optional.String({
    description:
      'The parts of the request that were not sent, or the reason why it was refused or shows nothing.',
  }),
  shape: Optional.String({
    description: 'The members and types of a JSON body that Deskbell did not understand, without values.',
  }),
});

export const bellWithRequestsView: View<BellWithRequests> = {
  schema: Type.Named('BellWithRequests', {
    ...members,
    requests: Type.Array(requestSchema, { description: 'The last ten requests.' }),
  }),
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
  const texts = new Map(
    kept.map((broadcast) => [
      broadcast.id,
      { ...readPayloadTexts(broadcast.payload), reachedNobody: findWhyUnreached(broadcast) },
    ]),
  );
  return {
    ...bell,
    requests: requests.map((request) => ({ ...request, ...texts.get(request.broadcastId ?? 0) })),
  };
}

function findWhyUnreached({ state, recipients, counts }: Broadcast): string | undefined {
  if (state === 'preparing' || state === 'cancelled') return undefined;
  if (recipients === 0) return 'nobody is subscribed';
  return state === 'done' && counts.accepted === 0 ? 'no push service took the message' : undefined;
}

/** True if at least one stored subscription matches the bell's audience. */
export const hasAudience = async (
  { subscriptions }: Pick<Store, 'subscriptions'>,
  { audience }: Bell,
): Promise<boolean> => {
  const matching = audience === 'all' ? undefined : audience;
  return (await subscriptions.page({ afterId: 0, limit: 1, matching })).length > 0;
};

/** A new secret, which is shown only once. */
export interface NewSecret {
  readonly name: string;
  readonly secret: string;
}

const secretView: View<NewSecret> = {
  schema: Type.Named('BellSecret', {
    name: nameSchema,
    secret: Type.String({ description: 'The secret, which is shown only in this response.' }),
    path: Type.String({ description: 'The path of the bell’s address on the listener.' }),
  }),
  toJson: (made) => ({ ...made, path: `${bellsPath}/${made.secret}` }),
};

export const bellParams = {
  name: Type.String({ minLength: 1, format: 'bell-name', description: 'The bell, percent-encoded.' }),
};

const ofOne = {
  tag: 'Sending',
  params: bellParams,
  errors: ['ERR_BELL_NOT_FOUND'],
  target: ({ name }: { readonly name: string }) => `bell ${name}`,
} as const;

export const listBells: NamedList<Bell> = {
  path: '/v1/bells',
  tag: 'Sending',
  operationId: 'listBells',
  summary: 'Lists bells: addresses whose requests become notifications for an audience',
  view: bellView,
  nameOf: ({ name }) => name,
  read: ({ store }) => store.bells.list(),
};

export const addBell = operation({
  route: 'POST /v1/bells',
  tag: 'Sending',
  operationId: 'addBell',
  summary: 'Creates a bell',
  description: 'The response contains the secret, which is shown only once, since only its hash is stored.',
  body: bellBody,
  answer: secretView,
  errors: ['ERR_BELL_EXISTS', 'ERR_CHANNEL_NOT_FOUND', 'ERR_FIELD_VALUE', 'ERR_FIELD_TYPE'],
  action: 'bell.add',
  target: ({ name }) => `bell ${name}`,
  run: async ({ store }, bell): Promise<NewSecret> => {
    const name = checkName(bell.name, '/name', 'The name of a bell');
    const audience = bell.audience === 'all' ? bell.audience : checkExpression(bell.audience);
    await findChannel(bell.channel, store);
    const secret = createBellSecret();
    await store.bells.add({ ...bell, name, audience, secretHash: hashBellSecret(secret) });
    return { name, secret };
  },
});

export const rotateBell = operation({
  ...ofOne,
  route: 'POST /v1/bells/:name/rotate',
  operationId: 'rotateBell',
  summary: 'Gives a bell another secret',
  description:
    'The old secret stops working at once. The response contains the new secret, which is shown only once.',
  answer: secretView,
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
  description:
    'The bell’s address stops working at once. Deskbell still sends broadcasts that the bell created before.',
  action: 'bell.remove',
  run: async ({ store }, { name }) => {
    if (await store.bells.remove(name)) return;
    throw new DeskbellError('ERR_BELL_NOT_FOUND', `There is no bell ${name}.`);
  },
});
