// The control resource: what the library offers, for other processes, as JSON over HTTP. Loopback only, and never
// for a web page: a browser sends `Origin` with whatever a page could do harm with.
import { type Answer, answerEmpty, answerJson, refuse } from './http/answer.ts';
import type { Exchange } from './http/exchange.ts';
import type { Fault } from './faults/faults.ts';
import type { PushService } from './push-service.ts';

const maxControlBytes = 64 * 1024;

type Controlled = Pick<
  PushService,
  'faults' | 'createSinks' | 'tallySinks' | 'clearSinks' | 'expire' | 'disconnectUserAgents' | 'statistics'
>;

/** Serves one request below `/control`. */
export async function serveControl(service: Controlled, exchange: Exchange): Promise<void> {
  const body = await exchange.readBody(maxControlBytes);
  if (body === 'aborted') return;
  const refusal = refuseAccess(exchange);
  if (refusal !== undefined) return exchange.answer(refusal);
  if (body === 'tooLarge')
    return exchange.answer(refuse('controlInvalid', `at most ${maxControlBytes} bytes`));

  const [, , resource = '', name] = exchange.path.split('/');
  try {
    if (resource === 'sinks' && exchange.method === 'POST') {
      const { count, vapidPublicKey } = readObject(body);
      const key = vapidPublicKey as string | undefined;
      const sinks = service.createSinks(count as number, key === undefined ? {} : { vapidPublicKey: key });
      const lines = Iterator.from(sinks).map((subscription) => JSON.stringify(subscription));
      return await exchange.answerLines(201, 'application/jsonl', lines);
    }
    exchange.answer(control(service, exchange.method, resource, name, body));
  } catch (error) {
    // wrong input is a TypeError, RangeError or SyntaxError with a message that says what is allowed
    exchange.answer(refuse('controlInvalid', (error as Error).message));
  }
}

function control(
  service: Controlled,
  method: string,
  resource: string,
  name: string | undefined,
  body: Uint8Array,
): Answer {
  const { faults } = service;
  switch (`${method} ${resource}${name === undefined ? '' : '/…'}`) {
    case 'GET statistics':
      return answerJson(200, service.statistics());
    case 'GET faults':
      return answerJson(200, faults.list());
    case 'POST faults':
      return answerJson(201, faults.rehearse(readObject(body) as unknown as Fault));
    case 'DELETE faults':
      faults.clear();
      return answerEmpty(204);
    case 'DELETE faults/…':
      return faults.cancel(Number(name))
        ? answerEmpty(204)
        : refuse('routeUnknown', 'there is no such fault');
    case 'GET sinks':
      return answerJson(200, service.tallySinks());
    case 'DELETE sinks':
      service.clearSinks();
      return answerEmpty(204);
    case 'DELETE subscriptions/…':
      return service.expire(String(name))
        ? answerEmpty(204)
        : refuse('endpointUnknown', 'there is no such subscription');
    case 'DELETE connections':
      service.disconnectUserAgents();
      return answerEmpty(204);
    default:
      return refuse('routeUnknown', `the control resource has no ${method} ${resource}`);
  }
}

function refuseAccess({ connection, headers }: Exchange): Answer | undefined {
  const address = connection.socket.remoteAddress ?? '';
  if (!/^(::ffff:)?127\.|^::1$/.test(address)) {
    return refuse('controlForbidden', 'the control resource answers to loopback only');
  }
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) {
    return refuse('controlForbidden', 'the control resource does not answer to web pages');
  }
  return undefined;
}

function readObject(body: Uint8Array): Record<string, unknown> {
  const value: unknown = JSON.parse(Buffer.from(body).toString());
  if (typeof value !== 'object' || value === null) throw new TypeError('the body must be a JSON object');
  return value as Record<string, unknown>;
}
