// The options of the transport: defaults of its time limits, and checks.
import { X509Certificate } from 'node:crypto';
import {
  isArrayOf,
  isFunction,
  isText,
  mustBe,
  type OptionCheck,
  type OptionChecks,
  wrong,
} from '../errors/check-options.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { createEndpointPolicy, type PushServices } from '../protocol/endpoint-policy.ts';
import { readAddressSettings } from './address-settings.ts';
import { parseProxy } from './proxy.ts';
import type { TransportOptions } from './transport.ts';

export const defaultTimeouts = {
  connectTimeoutMs: 10_000,
  responseTimeoutMs: 30_000,
  idleTimeoutMs: 60_000,
} as const;

/** How long `close` waits for requests in flight. */
export const defaultCloseGraceMs = 10_000;

/** The longest time that `setTimeout` accepts; with a longer one it fires at once. */
export const maxTimeoutMs = 2 ** 31 - 1;

/** @param verb such as `answer` */
export function timeoutError(host: string, verb: string, timeoutMs: number): DeskbellError {
  return new DeskbellError('ERR_TIMEOUT', `${host} did not ${verb} within ${timeoutMs / 1000} s.`);
}

// Options are checked when the transport is made, so that a wrong one does not fail only at the first connection.

const isTimeout = mustBe(
  `a number of milliseconds over 0 and at most ${maxTimeoutMs}`,
  (value) => typeof value === 'number' && value > 0 && value <= maxTimeoutMs,
);

const isTextList = isArrayOf('strings', isText);

export const transportChecks: OptionChecks<TransportOptions> = {
  pushServices(value, name) {
    if (value !== 'public') isTextList(value, name);
    createEndpointPolicy(value as PushServices);
  },
  pushServiceAddresses(value, name) {
    isTextList(value, name);
    readAddressSettings({ pushServiceAddresses: value as readonly string[] });
  },
  nat64Prefix(value, name) {
    isText(value, name);
    readAddressSettings({ nat64Prefix: value as string });
  },
  ca: isArrayOf('strings', isCertificate),
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

function isCertificate(...[pem, name]: Parameters<OptionCheck>): void {
  isText(pem, name);
  try {
    void new X509Certificate(pem as string);
  } catch (cause) {
    const message = 'is not a certificate in PEM: give the text that begins with -----BEGIN CERTIFICATE-----';
    throw wrong(name, message, { cause });
  }
}
