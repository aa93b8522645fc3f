// Counts each client's requests across all processes on the database, so that they can be limited. Contains
// only types and numbers.

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
   * @param client the client and the kind of request, such as `192.0.2.1 register`; only a hash of this is stored
   * @returns `undefined` if the request was not counted, because another client took its place in the table
   * @throws {DeskbellError} ERR_STORE_UNAVAILABLE
   */
  count(client: string, windowMs: number): Promise<ClientWindow | undefined>;
}

/** Number of clients that are counted at a time. The table does not grow, however many addresses a client uses. */
export const clientPlaces = 65_536;
