// The address of the database, and how to connect to it. This file contains only types, and none from the package "pg",
// so that applications that use SQLite compile without it.

/** Options of a connection, or a pool of connections. */
export interface ConnectionOptions {
  /**
   * `postgres://user:password@host:port/database?sslmode=verify-full&sslrootcert=ca.pem`. Several hosts are separated
   * by commas; the host that accepts writes is used.
   */
  readonly url: string;
  /** Maximum number of connections of this store. Default: 4. */
  readonly maxConnections?: number | undefined;
  /** Time limit for making a connection. Default: 5000. */
  readonly connectTimeoutMs?: number | undefined;
  /** The server cancels a statement after this time. Default: 30 000. */
  readonly statementTimeoutMs?: number | undefined;
}
