// Counts the requests of each client, for all processes on the database together, so that they can be limited. Types
// and numbers only.

export interface ClientWindow {
  /** Requests within the window, including the one that was just counted. */
  readonly requests: number;
  /** A window begins with the client's first request. */
  readonly endsInMs: number;
}

export interface ClientRequests {
  /**
   * Counts one request.
   *
   * @param client who asks, and for what, such as `192.0.2.1 register`; only a hash of it is stored
   * @returns `undefined` if it was not counted, since others took its place
   * @throws {DeskbellError} ERR_STORE_UNAVAILABLE
   */
  count(client: string, windowMs: number): Promise<ClientWindow | undefined>;
}

/** Clients that are counted at a time: however many addresses somebody has, the table stays as it is. */
export const clientPlaces = 65_536;
