// Operators: who may use the operator's listener, each by a token of which only the hash is stored, and their sessions in the
// console. Types and numbers only.

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
  /** Forgets sessions that are over, and the oldest of too many. @param session `nameHash`: 32 bytes of what its cookie has */
  startSession(session: {
    readonly nameHash: Uint8Array;
    readonly operatorId: number;
    readonly lifetimeMs: number;
  }): Promise<void>;
  /** Whose the session is, until it is over. */
  findBySession(nameHash: Uint8Array): Promise<Operator | undefined>;
  endSession(nameHash: Uint8Array): Promise<void>;
}

/** More than people who look after one installation. */
export const maxSessions = 1000;
