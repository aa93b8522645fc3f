// A site of a test, at a port of its own.
import {
  createServer,
  type IncomingMessage,
  request as sendRequest,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
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

/** Passes a request on to the service, as a reverse proxy does. */
export function passOn(request: IncomingMessage, response: ServerResponse, serviceUrl: string): void {
  const { method = '', url = '', headers } = request;
  const onward = sendRequest(new URL(url, serviceUrl), { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  request.pipe(onward);
}
