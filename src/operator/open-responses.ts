// Which responses of a kind are open, such as pages that are kept current. A client may go at any moment, also before the route's
// handler has begun: a response that is closed by then is never counted.
import type { ServerResponse } from 'node:http';

export interface OpenResponses {
  /** To be called at any time; the response is counted until it is closed. */
  add(response: ServerResponse): void;
  readonly size: number;
}

export function createOpenResponses(): OpenResponses {
  const open = new Set<ServerResponse>();
  return {
    add: (response) => {
      // "close" has been emitted already, and comes only once
      if (response.destroyed) return;
      open.add(response);
      response.once('close', () => open.delete(response));
    },
    get size() {
      return open.size;
    },
  };
}
