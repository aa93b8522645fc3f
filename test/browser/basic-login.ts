// A login with basic authentication in front of a service, as a reverse proxy has it.
import { createServer, request as sendRequest } from 'node:http';
import { listenOnNewPort } from '../../tools/listening.ts';

export interface BasicLogin extends AsyncDisposable {
  readonly url: string;
  /** With user and password: a browser that has opened it sends them to every path of the origin. */
  readonly urlWithCredentials: string;
}

const credentials = 'ada:lovelace';

export async function startBasicLogin(serviceUrl: string): Promise<BasicLogin> {
  const server = createServer((request, response) => {
    if (request.headers.authorization !== `Basic ${btoa(credentials)}`) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="shop"' }).end();
      return;
    }
    const { method = '', url = '', headers } = request;
    const onward = sendRequest(new URL(url, serviceUrl), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  const port = await listenOnNewPort(server);
  const authority = `localhost:${port}/`;
  return {
    url: `http://${authority}`,
    urlWithCredentials: `http://${credentials}@${authority}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
