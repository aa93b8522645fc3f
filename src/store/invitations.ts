// Invitations: each lets one browser subscribe as one person, once, within some minutes. Only the hash of its token is stored. It
// is consumed in the transaction that stores the subscription, so that of two registrations with one invitation one is refused,
// and one that fails leaves it as it was.
import { hash } from 'node:crypto';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { hashEndpoint } from '../protocol/endpoint.ts';
import type { PortableDatabase, PortableStatement } from './portable-sql.ts';

export const invitationLifetimeMs = 10 * 60 * 1000;

export interface Invitations {
  /** @returns when it expires, milliseconds since 1970 */
  add(invitation: { readonly tokenHash: Uint8Array; readonly user: string }): Promise<number>;
  /**
   * Whom it invites, if it can still be used for this endpoint: it has not expired, and no other endpoint has consumed it.
   */
  findUser(tokenHash: Uint8Array, endpoint: string): Promise<string | undefined>;
}

export function createInvitations(database: PortableDatabase): Invitations {
  return {
    add: async ({ tokenHash, user }) => {
      const expiresAtMs = database.now() + invitationLifetimeMs;
      // the same token again is the same call, whose answer was lost
      await database.write(
        `insert into deskbell.invitations (token_hash, user_name, expires_at_ms)
         values (:tokenHash, :user, :expiresAtMs) on conflict do nothing`,
        { tokenHash, user, expiresAtMs },
      );
      return expiresAtMs;
    },
    findUser: async (tokenHash, endpoint) => {
      const [row] = await database.read<{ readonly user_name: string }>(
        `select user_name from deskbell.invitations where ${isUsable}`,
        valuesOf(tokenHash, endpoint, database.now()),
      );
      return row?.user_name;
    },
  };
}

/** 32 bytes. The token is random, so that nobody can guess it from its hash. */
export const hashInvitation = (token: string): Uint8Array => hash('sha256', token, 'buffer');

/** The same endpoint again is the same call, whose answer was lost. */
const isUsable = `
  token_hash = :tokenHash and expires_at_ms > :nowMs and (consumed_by is null or consumed_by = :endpointHash)`;

const valuesOf = (tokenHash: Uint8Array, endpoint: string, nowMs: number) => ({
  tokenHash,
  endpointHash: hashEndpoint(endpoint),
  nowMs,
});

/** Consumes an invitation, within the transaction that stores the subscription. Without a row it cannot be used: `notInvited`. */
export const consumeInvitation = (
  tokenHash: Uint8Array,
  endpoint: string,
  nowMs: number,
): PortableStatement => ({
  sql: `update deskbell.invitations set consumed_by = :endpointHash where ${isUsable} returning 1`,
  values: valuesOf(tokenHash, endpoint, nowMs),
});

/**
 * A subscription takes the place of a former one: what that one has consumed counts as consumed by this one. Otherwise the
 * invitation would let the former one in again, and then the next one in its place.
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
