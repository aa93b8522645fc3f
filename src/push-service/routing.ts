// Routes requests to the local push service, and serves its control resource.
import { setTimeout as sleep } from 'node:timers/promises';
import { nameOf } from './addresses.ts';
import type { UserAgents } from './browser-side/user-agents.ts';
import type { EventLog } from './events.ts';
import { applyFault, type createFaults, type Fault } from './faults.ts';
import {
  type Answer,
  emptyAnswer,
  type Exchange,
  isLoopbackHost,
  jsonAnswer,
  refusal,
} from './http/exchange.ts';
import type { Limits } from './limits.ts';
import type { PushService } from './push-service.ts';
import type { createSenderApi } from './sender-side/sender-api.ts';

export interface Routes {
  readonly service: PushService;
  readonly agents: UserAgents;
  readonly push: ReturnType<typeof createSenderApi>;
  readonly limits: Limits;
  readonly log: EventLog;
  readonly faults: ReturnType<typeof createFaults>;
}

/**
 * Routes a request: `/wpush/…` are push resources, `/m/…` message resources, `/control/…` the control resource, and
 * `/` lists the push service's URLs.
 */
export async function route(exchange: Exchange, routes: Routes): Promise<void> {
  const { method, path } = exchange;
  const hostFault = exchange.findHostFault();
  if (hostFault !== undefined) {
    return exchange.send(refusal('hostInvalid', hostFault), { closesConnection: true });
  }
  const [, resource, name, further] = path.split('/');
  if (resource === 'control') return serveControl(routes.service, exchange);
  const kind = further === undefined && name !== undefined ? resource : undefined;
  if (kind === 'wpush' && method === 'POST') return servePush(exchange, String(name), routes);
  if ((await exchange.readBody(0)) === 'aborted') return;

  switch (kind) {
    case 'wpush':
      return exchange.send(refusal('methodNotAllowed', 'a push resource takes POST', { allow: 'POST' }));
    case 'm':
      return serveMessage(exchange, String(name), routes);
  }
  const { origin, webSocketUrl } = routes.service;
  exchange.send(
    path === '/'
      ? jsonAnswer(200, { pushService: origin, webSocket: webSocketUrl })
      : refusal('routeUnknown', 'there is nothing at this path'),
  );
}

function serveMessage(exchange: Exchange, version: string, { agents, log }: Routes): void {
  const { method } = exchange;
  if (method !== 'DELETE') {
    return exchange.send(refusal('methodNotAllowed', 'a message resource takes DELETE', { allow: 'DELETE' }));
  }
  const answer = agents.withdraw(version)
    ? emptyAnswer(204)
    : refusal('messageUnknown', 'there is no such message, or it has arrived or expired');
  log.record({ type: 'answered', method, status: answer.status });
  exchange.send(answer);
}

async function servePush(exchange: Exchange, token: string, routes: Routes): Promise<void> {
  const { limits, log } = routes;
  const { method, headers, connection, streamId } = exchange;
  const subscription = nameOf(token);
  // send any GOAWAY before the first await, because later streams must not be processed
  const { delayMs, goAway, ending } = routes.faults.match(token, connection.requests);
  if (goAway !== undefined) {
    log.record({ type: 'fault', kind: 'goaway', subscription });
    connection.goAway(streamId, goAway.code ?? 0);
  }
  const body = await exchange.readBody(limits.maxBodyBytes);
  if (body === 'aborted') return;
  if (delayMs > 0) {
    log.record({ type: 'fault', kind: 'delay', subscription });
    await sleep(delayMs, undefined, { ref: false });
  }
  const push = (): Answer => {
    const answer = routes.push({ token, headers, body });
    log.record({ type: 'answered', method, status: answer.status, subscription });
    return answer;
  };
  if (ending === undefined) return exchange.send(push(), goAway && { closesConnection: true });
  log.record({ type: 'fault', kind: ending.kind, subscription });
  applyFault(ending, exchange, push);
}

// The control resource offers the library's functions as JSON over HTTP to other processes. It accepts requests from
// loopback only, and never from a web page: browsers send `Origin` with every request that could do harm.

const maxControlBytes = 64 * 1024;

async function serveControl(service: PushService, exchange: Exchange): Promise<void> {
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
    // wrong input throws a TypeError, RangeError or SyntaxError that says what is allowed
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
  // If a web page's own name resolves to loopback (DNS rebinding), the browser sends that name as the host.
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
