// GET /v1/audit: what operators have changed, newest first.
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { Type } from '../../http/schema.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import type { AuditRecord } from '../../store/audit.ts';
import type { View } from '../../views/view.ts';
import type { OperatorContext } from '../context.ts';
import { operationsOf } from './operations.ts';
import { readPage } from './page.ts';

const auditView: View<AuditRecord> = {
  schema: Type.Model(
    'AuditRecord',
    Type.Object({
      id: Type.Integer(),
      at: Type.String({ format: 'date-time' }),
      operator: Type.String(),
      action: Type.String({ description: 'What was done, such as broadcast.pause.' }),
      target: Type.Optional(Type.String({ description: 'To what; a person is named by a keyed hash.' })),
      status: Type.Optional(
        Type.Integer({ description: 'HTTP status of the answer; absent if there was none.' }),
      ),
    }),
  ),
  example: {
    id: 12,
    at: '2027-01-01T09:00:00.000Z',
    operator: 'shop',
    action: 'broadcast.pause',
    target: 'broadcast 7',
    status: 200,
  },
  toJson: ({ atMs, ...record }) => ({ at: isoTime(atMs), ...record }),
};

export function addAuditRoutes(app: ServiceApp, { store }: OperatorContext): void {
  const operations = operationsOf(app, 'Installation');

  operations.addList('/v1/audit', {
    operationId: 'listAuditRecords',
    summary: 'What operators have changed, newest first',
    view: auditView,
    read: (_request, { limit, cursor }) =>
      readPage(limit, (count) => store.audit.list({ beforeId: cursor, limit: count })),
  });
}
