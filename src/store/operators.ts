// Operators: who may use the operator's listener, each by a token of which only the hash is stored. Types only.

/** `full`: everything. `read`: what changes nothing. `metrics`: `/metrics` alone. */
export const operatorRoles = ['full', 'read', 'metrics'] as const;
export type OperatorRole = (typeof operatorRoles)[number];

export interface Operator {
  /** Never used again. */
  readonly id: number;
  readonly name: string;
  readonly role: OperatorRole;
  readonly createdAtMs: number;
}

export interface OperatorStore {
  /** @throws {DeskbellError} ERR_OPERATOR_EXISTS where the name is taken */
  add(operator: {
    readonly name: string;
    readonly role: OperatorRole;
    readonly tokenHash: Uint8Array;
  }): Promise<Operator>;
  findById(id: number): Promise<Operator | undefined>;
  findByToken(tokenHash: Uint8Array): Promise<Operator | undefined>;
  /** In the order of names. */
  list(): Promise<readonly Operator[]>;
  /** @returns false where there is none of this name */
  remove(name: string): Promise<boolean>;
}
