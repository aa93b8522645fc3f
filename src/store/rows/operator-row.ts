// A row of an operator, as every database gives it.
import type { Operator, OperatorRole } from '../operators.ts';

export interface OperatorRow {
  readonly id: number;
  readonly name: string;
  readonly role: OperatorRole;
  readonly created_at_ms: number;
}

export const operatorColumns = 'id, name, role, created_at_ms';

export const toOperator = ({ id, name, role, created_at_ms }: OperatorRow): Operator => ({
  id,
  name,
  role,
  createdAtMs: created_at_ms,
});
