// A site of a test, at a port of its own.
import { createServer, type RequestListener } from 'node:http';
import { listenOnNewPort } from '../../tools/listening.ts';

export interface Site extends AsyncDisposable {
  readonly url: string;
}

export async function startSite(answer: RequestListener): Promise<Site> {
  const server = createServer(answer);
  const port = await listenOnNewPort(server);
  return {
    url: `http://localhost:${port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
