import { STATUS_CODES } from 'node:http';
import { type Answer, jsonAnswer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { EndingFault } from './fault.ts';

/** @param push processes the message normally and returns its answer */
export function applyFault(fault: EndingFault, exchange: Exchange, push: () => Answer): void {
  if (fault.afterAccepting === true) push();
  switch (fault.kind) {
    case 'status':
      exchange.send(injectedAnswer(fault));
      break;
    case 'half':
      exchange.sendHalf(push());
      break;
    case 'reset':
      exchange.connection.reset();
      break;
    case 'reset-stream':
      exchange.resetStream(fault.code ?? 7); // REFUSED_STREAM
      break;
    case 'hang':
      break; // the exchange ends when either side closes the connection
  }
}

function injectedAnswer(fault: Extract<EndingFault, { kind: 'status' }>): Answer {
  const { status, retryAfter, headers, body } = fault;
  const retryHeader = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
  const further = { ...retryHeader, ...headers };
  if (body !== undefined) return { status, headers: further, body };
  const message = 'injected fault';
  return jsonAnswer(status, { code: status, errno: null, error: STATUS_CODES[status], message }, further);
}
