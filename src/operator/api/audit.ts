// GET /v1/audit: what operators have changed, newest first.
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { sendJson } from '../../http/json-text.ts';
import { Type } from '../../http/schema.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import type { OperatorContext } from '../context.ts';
import { describeOperation } from './describe-operation.ts';
import { pageOf, pageQuery, readPage } from './page.ts';

const record = Type.Object({
  id: Type.Integer(),
  at: Type.String({ format: 'date-time' }),
  operator: Type.String(),
  action: Type.String({ description: 'What was done, such as broadcast.pause.' }),
  target: Type.Optional(Type.String({ description: 'To what; a person is named by a keyed hash.' })),
  status: Type.Optional(
    Type.Integer({ description: 'HTTP status of the answer; absent if there was none.' }),
  ),
});

const operation = describeOperation({
  tag: 'Installation',
  summary: 'What operators have changed, newest first',
  schema: pageOf(record),
  example: {
    items: [
      {
        id: 12,
        at: '2027-01-01T09:00:00.000Z',
        operator: 'shop',
        action: 'broadcast.pause',
        target: 'broadcast 7',
        status: 200,
      },
    ],
    next: null,
  },
});

export function addAuditRoutes(app: ServiceApp, { store }: OperatorContext): void {
  app.get(
    '/v1/audit',
    {
      schema: { querystring: Type.Object(pageQuery, { additionalProperties: false }) },
      config: { operation },
    },
    async ({ query: { limit, cursor } }, reply) => {
      const { items, next } = await readPage(limit, (count) =>
        store.audit.list({ beforeId: cursor, limit: count }),
      );
      return sendJson(reply, {
        items: items.map(({ atMs, ...rest }) => ({ at: isoTime(atMs), ...rest })),
        next,
      });
    },
  );
}
