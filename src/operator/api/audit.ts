// GET /v1/audit: what operators have changed, newest first.
import { type ServiceApp, Type } from '../../http/schema.ts';
import { auditView } from '../../operations/audit.ts';
import type { OperatorContext } from '../context.ts';
import { readPage } from '../list-page.ts';
import { operationsOf } from './operations.ts';

const moment = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }));

const filters = {
  operator: Type.Optional(
    Type.String({ format: 'plain-text', description: 'Name of the operator who made the change.' }),
  ),
  action: Type.Optional(
    Type.String({ format: 'plain-text', description: 'What was done, such as broadcast.pause.' }),
  ),
  since: moment('Only changes at this time or later.'),
  until: moment('Only changes before this time.'),
};

export function addAuditRoutes(app: ServiceApp, { store }: OperatorContext): void {
  const operations = operationsOf(app, 'Installation');

  operations.addList('/v1/audit', {
    operationId: 'listAuditRecords',
    summary: 'What operators have changed, newest first',
    query: filters,
    view: auditView,
    read: ({ query: { operator, action, since, until } }, { limit, cursor }) => {
      const filter = {
        operator,
        action,
        sinceMs: since === undefined ? undefined : Date.parse(since),
        untilMs: until === undefined ? undefined : Date.parse(until),
        beforeId: cursor,
      };
      return readPage(limit, (count) => store.audit.list({ ...filter, limit: count }));
    },
  });
}
