// A login with basic authentication in front of a service, as a reverse proxy has it.
import { request as sendRequest } from 'node:http';
import { startSite } from './site.ts';

const credentials = 'ada:lovelace';

export async function startBasicLogin(serviceUrl: string) {
  const site = await startSite((request, response) => {
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
  // a browser that has opened it sends them to every path of the origin
  return { ...site, urlWithCredentials: site.url.replace('//', `//${credentials}@`) };
}
