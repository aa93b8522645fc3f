// The control resource: the library's functions as JSON over HTTP, for other processes. It answers only loopback, and
// never a web page: browsers send `Origin` with every request that could do harm.
import { type Answer, emptyAnswer, isLoopbackHost, jsonAnswer, refusal } from './http/answer.ts';
import type { Exchange } from './http/exchange.ts';
import type { Fault } from './faults.ts';
import type { PushService } from './push-service.ts';

const maxControlBytes = 64 * 1024;

export async function serveControl(service: PushService, exchange: Exchange): Promise<void> {
  const body = await exchange.readBody(maxControlBytes);
  if (body === 'aborted') return;
  const denial = checkAccess(exchange, service.origin);
  if (denial !== undefined) return exchange.send(denial);
  if (body === 'tooLarge')
    return exchange.send(refusal('controlInvalid', `at most ${maxControlBytes} bytes`));

  const [, , resource = '', name] = exchange.path.split('/');
  try {
    if (resource === 'sinks' && exchange.method === 'POST') {
      const { count, vapidPublicKey } = readObject(body);
      const key = vapidPublicKey as string | undefined;
      const sinks = service.createSinks(count as number, { vapidPublicKey: key });
      const lines = Iterator.from(sinks).map((subscription) => JSON.stringify(subscription));
      return await exchange.sendLines(201, 'application/jsonl', lines);
    }
    exchange.send(control(service, exchange.method, resource, name, body));
  } catch (error) {
    // wrong input is a TypeError, RangeError or SyntaxError that says what is allowed
    exchange.send(refusal('controlInvalid', (error as Error).message));
  }
}

function control(
  service: PushService,
  method: string,
  resource: string,
  name: string | undefined,
  body: Uint8Array,
): Answer {
  const { faults } = service;
  switch (`${method} ${resource}${name === undefined ? '' : '/…'}`) {
    case 'GET statistics':
      return jsonAnswer(200, service.statistics());
    case 'GET faults':
      return jsonAnswer(200, faults.list());
    case 'POST faults':
      return jsonAnswer(201, faults.inject(readObject(body) as unknown as Fault));
    case 'DELETE faults':
      faults.clear();
      return emptyAnswer(204);
    case 'DELETE faults/…':
      return faults.cancel(Number(name))
        ? emptyAnswer(204)
        : refusal('routeUnknown', 'there is no such fault');
    case 'GET sinks':
      return jsonAnswer(200, service.tallySinks());
    case 'DELETE sinks':
      service.clearSinks();
      return emptyAnswer(204);
    case 'DELETE subscriptions/…':
      return service.expire(String(name))
        ? emptyAnswer(204)
        : refusal('endpointUnknown', 'there is no such subscription');
    case 'DELETE connections':
      service.disconnectUserAgents();
      return emptyAnswer(204);
    default:
      return refusal('routeUnknown', `the control resource has no ${method} ${resource}`);
  }
}

function checkAccess({ connection, headers, host }: Exchange, origin: string): Answer | undefined {
  const address = connection.socket.remoteAddress ?? '';
  if (!/^(::ffff:)?127\.|^::1$/.test(address)) {
    return refusal('controlForbidden', 'the control resource answers to loopback only');
  }
  // A page whose name resolves to loopback (DNS rebinding) sends its own name.
  if (host !== undefined && !isLoopbackHost(host) && host !== new URL(origin).host) {
    return refusal(
      'controlForbidden',
      'the control resource answers under its own name and those of loopback only',
    );
  }
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) {
    return refusal('controlForbidden', 'the control resource does not answer to web pages');
  }
  return undefined;
}

function readObject(body: Uint8Array): Record<string, unknown> {
  const value: unknown = JSON.parse(Buffer.from(body).toString());
  if (typeof value !== 'object' || value === null) throw new TypeError('the body must be a JSON object');
  return value as Record<string, unknown>;
}
