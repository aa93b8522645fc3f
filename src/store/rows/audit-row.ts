// A row of the operators' audit, as every database gives it.
import type { AuditRecord } from '../audit.ts';

export interface AuditRow {
  readonly id: number;
  readonly at_ms: number;
  readonly operator: string;
  readonly action: string;
  readonly target: string | null;
  readonly status: number | null;
}

export const toAuditRecord = ({ id, at_ms, operator, action, target, status }: AuditRow): AuditRecord => ({
  id,
  atMs: at_ms,
  operator,
  action,
  target: target ?? undefined,
  status: status ?? undefined,
});
