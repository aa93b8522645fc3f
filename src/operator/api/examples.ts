// Examples of responses, made from their schemas.
import { lookUp } from '../../errors/check-options.ts';
import type { Schema } from '../../http/schema.ts';
import { bellsPath } from '../../http/unknown-paths.ts';

const origin = 'https://fcm.googleapis.com';
const publicKey = 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4';

/** Example values by member name, for schemas without an example. Optional members that have neither are left out. */
const values: Readonly<Record<string, unknown>> = {
  origin,
  pushService: origin,
  publicKey,
  vapidPublicKey: publicKey,
  reason: 'vapid-refused',
  detail: 'BadJwtToken',
  rows: 20,
  subscriptions: 12,
  broadcast: 7,
  user: '42',
  tags: ['beta', 'news'],
  language: 'de',
  operator: 'ada',
  by: 'ada',
  createdBy: { operator: 'ada' },
  action: 'broadcast.pause',
  target: 'broadcast 7',
  tool: 'Text',
  title: 'Backups',
  message: 'Backups are done',
  audience: 'all',
  waiting: 0,
  toRetry: 0,
  heldBack: [],
  expiresAt: '2027-01-29T09:00:00.000Z',
  name: 'backups',
  secret: 'A3kJd0qWx_81mZe',
  path: `${bellsPath}/A3kJd0qWx_81mZe`,
  removedAt: '2027-01-01T09:00:00.000Z',
  removalReceipt: 'q6vJ0yqN3l0sG1X2e5m7bA',
  day: '2027-01-01',
  cron: '0 9 * * 1',
  timezone: 'Europe/Berlin',
  nextAt: '2027-01-04T08:00:00.000Z',
  nextTimes: ['2027-01-04T08:00:00.000Z', '2027-01-11T08:00:00.000Z', '2027-01-18T08:00:00.000Z'],
  changes: [],
  senders: 2,
  connections: 4,
  inFlight: 310,
  maxInFlight: 400,
  answers: 120_000,
  refusedKeys: [],
  machine: 'push-1',
};

interface Parts {
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly type?: unknown;
  readonly format?: string;
  readonly minimum?: number;
}

/** @param name the name of the member that has the schema */
export function exampleOf(schema: Schema, name = ''): unknown {
  const parts = schema as Parts;
  const { anyOf, items, properties, required = [], type, format, minimum = 1 } = parts;
  const [example = lookUp(values, name)] = parts.examples ?? parts.enum ?? [];
  if (example !== undefined) return example;
  if (anyOf) return exampleOf(anyOf[0]!);
  if (items) return [exampleOf(items)];
  if (properties) {
    const members = Object.entries(properties).filter(
      ([key, member]) => required.includes(key) || 'examples' in member || key in values,
    );
    return Object.fromEntries(members.map(([key, member]) => [key, exampleOf(member, key)]));
  }
  if (format === 'date-time') return '2027-01-01T09:00:00.000Z';
  const plain = { string: 'text', integer: minimum, boolean: false, object: {} };
  return lookUp(plain, String(type)) ?? null;
}
