// Lists the VAPID public keys and the changes by operators.
import { Optional, type ServiceApp, Type } from '../../http/schema.ts';
import { auditView } from '../../operations/audit.ts';
import type { NamedList, View } from '../../operations/operation.ts';
import type { StoredVapidKey } from '../../store/vapid-keys.ts';
import type { OperatorContext } from '../context.ts';
import { readPage } from '../searches.ts';
import { addList, addOperations } from './operations.ts';

const filters = {
  operator: Optional.String({
    format: 'plain-text',
    description: 'Only changes by the operator with this name.',
  }),
  action: Optional.String({
    format: 'plain-text',
    description: 'Only changes with this action, such as broadcast.pause.',
  }),
  target: Optional.String({
    format: 'plain-text',
    description: 'Only changes to this target, such as broadcast 7.',
  }),
  since: Optional.Time('Only changes at this time or later.'),
  until: Optional.Time('Only changes before this time.'),
};

const keyView: View<StoredVapidKey> = {
  schema: Type.Named('VapidKey', {
    publicKey: Type.String({ pattern: '^[A-Za-z0-9_-]{87}$' }),
    state: Type.String({
      enum: ['next', 'current', 'previous', 'retired'],
      examples: ['current'],
      description:
        'Services offer the current key. Earlier keys still sign messages to the subscriptions that were made with them.',
    }),
  }),
  toJson: (key) => key,
};

const listKeys: NamedList<StoredVapidKey> = {
  path: '/v1/keys',
  tag: 'Installation',
  operationId: 'listKeys',
  summary: 'Lists the public VAPID keys',
  view: keyView,
  nameOf: ({ publicKey }) => publicKey,
  read: async ({ store }) => (await store.vapidKeys.list()).filter(({ state }) => state !== undefined),
};

export function addInstallationRoutes(app: ServiceApp, parts: OperatorContext): void {
  addOperations(app, parts, [listKeys]);
  addList(app, 'Installation', '/v1/audit', {
    operationId: 'listAuditRecords',
    summary: 'Lists the changes that operators have made, newest first',
    query: filters,
    view: auditView,
    read: ({ query: { operator, action, target, since, until } }, { limit, cursor }) => {
      const filter = {
        operator,
        action,
        target,
        sinceMs: since === undefined ? undefined : Date.parse(since),
        untilMs: until === undefined ? undefined : Date.parse(until),
        beforeId: cursor,
      };
      return readPage(limit, (count) => parts.store.audit.list({ ...filter, limit: count }));
    },
  });
}
