// What each option of the transport may be, so that a wrong one fails when the transport is made and not at the first
// connection.
import { X509Certificate } from 'node:crypto';

import {
  isFunction,
  kindOf,
  mustBe,
  wrong,
  type OptionCheck,
  type OptionChecks,
} from '../errors/check-options.ts';
import { createEndpointPolicy } from '../protocol/endpoint-policy.ts';
import { parseProxy } from './proxy.ts';
import { maxTimeoutMs } from './timeouts.ts';
import type { TransportOptions } from './transport.ts';

const isTimeout = mustBe(
  `a number of milliseconds over 0 and at most ${maxTimeoutMs}`,
  (value) => typeof value === 'number' && value > 0 && value <= maxTimeoutMs,
);

export const transportChecks: OptionChecks<TransportOptions> = {
  pushServices(value, name) {
    isTextList(value, name);
    createEndpointPolicy(value as readonly string[]);
  },
  ca(value, name) {
    isTextList(value, name);
    for (const [index, pem] of (value as readonly string[]).entries())
      checkCertificate(`${name}[${index}]`, pem);
  },
  proxy: (value) => void parseProxy(value as string),
  noProxy: isTextList,
  connectTimeoutMs: isTimeout,
  responseTimeoutMs: isTimeout,
  idleTimeoutMs: isTimeout,
  monotonicNow: isFunction,
  startTimer: isFunction,
  now: isFunction,
  random: isFunction,
  resolve: isFunction,
  connectOverride: isFunction,
};

function isTextList(...[value, name]: Parameters<OptionCheck>): void {
  if (typeof value === 'string')
    throw wrong(name, 'must be an array of strings, not a string: put it in [ ]');
  if (!Array.isArray(value)) throw wrong(name, `must be an array of strings, not ${kindOf(value)}`);
  for (const [index, item] of value.entries()) {
    if (typeof item !== 'string') throw wrong(`${name}[${index}]`, `must be a string, not ${kindOf(item)}`);
  }
}

function checkCertificate(name: string, pem: string): void {
  try {
    void new X509Certificate(pem);
  } catch (cause) {
    const message = 'is not a certificate in PEM: give the text that begins with -----BEGIN CERTIFICATE-----';
    throw wrong(name, message, { cause });
  }
}
