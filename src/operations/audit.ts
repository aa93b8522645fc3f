// The form in which audit records are shown.
import { isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { lookUp } from '../errors/check-options.ts';
import { Optional, Type } from '../http/schema.ts';
import type { AuditRecord } from '../store/operators.ts';
import type { Store } from '../store/store.ts';
import type { View } from './operation.ts';

export const auditView: View<AuditRecord> = {
  schema: Type.Named('AuditRecord', {
    id: Type.Integer(),
    at: Type.Time(),
    operator: Type.String(),
    action: Type.String({ description: 'The action, such as broadcast.pause.' }),
    target: Optional.String({ description: 'What the action changed. A person appears as a keyed hash.' }),
    status: Optional.Integer({
      description: 'HTTP status of the response. Absent if there was no response.',
    }),
  }),
  toJson: ({ atMs, ...record }) => ({ at: isoTime(atMs), ...record }),
};

export const changesSchema = Type.Array(auditView.schema, {
  description:
    'The changes that operators and commands have made, newest first, at most 20, as long as the audit is kept. Lists leave this member out.',
});

export interface Changed {
  readonly changes: readonly AuditRecord[];
}

const shownChanges = 20;

/** Reads the newest successful changes to a target. @param target such as `broadcast 7` */
export const readChanges = async ({ audit }: Pick<Store, 'audit'>, target: string) =>
  (await audit.list({ target, limit: shownChanges })).filter(({ status = 500 }) => status < 400);

const doneTo: Readonly<Record<string, string>> = {
  create: 'created',
  pause: 'paused',
  resume: 'resumed',
  cancel: 'cancelled',
};

/** `paused by ada` */
export const formatChange = ({ action, operator }: AuditRecord): string => {
  const [, verb = action] = action.split('.');
  return `${lookUp(doneTo, verb) ?? verb} by ${operator}`;
};
