// Where the database is, and how it is connected to. Types only, without those of the package "pg": applications whose
// database is SQLite compile against them too.

/** Options of a connection, or a pool of connections. */
export interface ConnectionOptions {
  /** `postgres://user:password@host:port/database?sslmode=verify-full&sslrootcert=ca.pem`. Of several hosts, separated by
   *  commas, the one is used that takes writes. */
  readonly url: string;
  /** Connections of this store at most. Default: 4. */
  readonly maxConnections?: number | undefined;
  /** How long a connection may take to be made. Default: 5000. */
  readonly connectTimeoutMs?: number | undefined;
  /** After this the server cancels a statement. Default: 30 000. */
  readonly statementTimeoutMs?: number | undefined;
}
