// Invitations: each lets one browser subscribe as one person, once, within a few minutes. Only the hash of an
// invitation's token is stored. The invitation is consumed in the transaction that stores the subscription. If two
// registrations use one invitation, one of them is refused; a failed registration leaves it unused.
import { hash } from 'node:crypto';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { hashEndpoint } from '../protocol/endpoint.ts';
import { run, type PortableDatabase, type PortableStatement, type Work } from './portable-sql.ts';

export const invitationLifetimeMs = 10 * 60 * 1000;

export type Invitations = ReturnType<typeof createInvitations>;

export function createInvitations(database: PortableDatabase) {
  return {
    /** @returns when the invitation expires, in milliseconds since 1970 */
    add: async ({ tokenHash, user }: { readonly tokenHash: Uint8Array; readonly user: string }) => {
      const expiresAtMs = database.now() + invitationLifetimeMs;
      // if the token is stored already, the call was repeated because its response was lost
      await database.write(
        `insert into deskbell.invitations (token_hash, user_name, expires_at_ms)
         values (:tokenHash, :user, :expiresAtMs) on conflict do nothing`,
        { tokenHash, user, expiresAtMs },
      );
      return expiresAtMs;
    },
    /**
     * Returns the invited user if this endpoint can still use the invitation: it has not expired, and no other endpoint
     * has consumed it.
     */
    findUser: async (tokenHash: Uint8Array, endpoint: string): Promise<string | undefined> => {
      const [row] = await database.read<{ readonly user_name: string }>(
        `select user_name from deskbell.invitations where ${isUsable}`,
        valuesOf(tokenHash, endpoint, database.now()),
      );
      return row?.user_name;
    },
  };
}

/** 32 bytes. The token is random, so it cannot be guessed from its hash. */
export const hashInvitation = (token: string): Uint8Array => hash('sha256', token, 'buffer');

/** The same endpoint again means that the call is repeated because its response was lost. */
const isUsable = `
  token_hash = :tokenHash and expires_at_ms > :nowMs and (consumed_by is null or consumed_by = :endpointHash)`;

const valuesOf = (tokenHash: Uint8Array, endpoint: string, nowMs: number) => ({
  tokenHash,
  endpointHash: hashEndpoint(endpoint),
  nowMs,
});

/** Consumes an invitation in the transaction that stores the subscription. @throws {DeskbellError} ERR_NOT_INVITED */
export function* consumeInvitation(tokenHash: Uint8Array, endpoint: string, nowMs: number): Work<void> {
  const consumed = yield* run(
    `update deskbell.invitations set consumed_by = :endpointHash where ${isUsable} returning 1`,
    valuesOf(tokenHash, endpoint, nowMs),
  );
  if (consumed.length === 0) throw notInvited();
}

/**
 * Passes the consumed invitation on to the subscription that replaces the former one. Otherwise, the former one could
 * use the invitation again and then be replaced by yet another.
 */
export const passInvitationOn = (formerEndpoint: string, endpoint: string): PortableStatement => ({
  sql: 'update deskbell.invitations set consumed_by = :endpointHash where consumed_by = :formerHash',
  values: { endpointHash: hashEndpoint(endpoint), formerHash: hashEndpoint(formerEndpoint) },
});

export const notInvited = (): DeskbellError =>
  new DeskbellError(
    'ERR_NOT_INVITED',
    'The invitation has expired or was used. Ask for a new one; the operator makes it with "deskbell invite".',
  );
