// An audit record as it is shown.
import { isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { Type } from '../http/schema.ts';
import type { AuditRecord } from '../store/operators.ts';
import type { View } from './operation.ts';

/** A change by an operator. */
export const auditView: View<AuditRecord> = {
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
