import { setTimeout as sleep } from 'node:timers/promises';
import { type Addresses, nameOf } from './addresses.ts';
import { type Answer, jsonAnswer, refusal } from './http/answer.ts';
import { applyFault, type FaultPlan } from './faults.ts';
import type { EventLog } from './events.ts';
import type { Exchange } from './http/exchange.ts';
import type { Limits } from './limits.ts';
import type { SenderApi } from './sender-side/sender-api.ts';

export interface Routes {
  readonly addresses: Addresses;
  readonly api: SenderApi;
  readonly limits: Limits;
  readonly log: EventLog;
  readonly matchFaults: (token: string, streams: number) => FaultPlan;
  readonly serveControl: (exchange: Exchange) => Promise<void>;
}

/** `/wpush/…` push resources, `/m/…` message resources, `/control/…`, and `/`, which names the push service's URLs. */
export async function route(exchange: Exchange, routes: Routes): Promise<void> {
  const { method, path } = exchange;
  const hostFault = exchange.findHostFault();
  if (hostFault !== undefined) {
    return exchange.send(refusal('hostInvalid', hostFault), { closesConnection: true });
  }
  const [, resource, name, further] = path.split('/');
  if (resource === 'control') return routes.serveControl(exchange);
  const kind = further === undefined && name !== undefined ? resource : undefined;
  if (kind === 'wpush' && method === 'POST') return servePush(exchange, String(name), routes);
  if ((await exchange.readBody(0)) === 'aborted') return;

  switch (kind) {
    case 'wpush':
      return exchange.send(refusal('methodNotAllowed', 'a push resource takes POST', { allow: 'POST' }));
    case 'm':
      return serveMessage(exchange, String(name), routes);
  }
  const { origin, webSocketUrl } = routes.addresses;
  exchange.send(
    path === '/'
      ? jsonAnswer(200, { pushService: origin, webSocket: webSocketUrl })
      : refusal('routeUnknown', 'there is nothing at this path'),
  );
}

function serveMessage(exchange: Exchange, version: string, { api, log }: Routes): void {
  const { method } = exchange;
  if (method !== 'DELETE') {
    return exchange.send(refusal('methodNotAllowed', 'a message resource takes DELETE', { allow: 'DELETE' }));
  }
  const answer = api.withdraw(version);
  log.record({ type: 'answered', method, status: answer.status });
  exchange.send(answer);
}

async function servePush(exchange: Exchange, token: string, routes: Routes): Promise<void> {
  const { api, limits, log, matchFaults } = routes;
  const { method, headers, connection, streamId } = exchange;
  const subscription = nameOf(token);
  // before anything is awaited: streams after the last one of a GOAWAY must not get this far
  const { delayMs, goAway, ending } = matchFaults(token, connection.requests);
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
    const answer = api.push({ token, headers, body });
    log.record({ type: 'answered', method, status: answer.status, subscription });
    return answer;
  };
  if (ending === undefined) return exchange.send(push(), goAway && { closesConnection: true });
  log.record({ type: 'fault', kind: ending.kind, subscription });
  applyFault(ending, exchange, push);
}
