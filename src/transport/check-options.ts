// Checks the options of a new transport and fills in default time limits. Also checks paths and header fields of
// requests before anything is written.
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
import { parseProxy } from './proxy.ts';
import type { PushHeaders, PushRequest, TransportOptions } from './transport.ts';

export const defaultTimeouts = {
  connectTimeoutMs: 10_000,
  responseTimeoutMs: 30_000,
  idleTimeoutMs: 60_000,
} as const;

/** How long `close` waits for requests in flight by default. */
export const defaultCloseGraceMs = 10_000;

/** The maximum delay of `setTimeout`. With a longer delay, the timer fires at once. */
export const maxTimeoutMs = 2 ** 31 - 1;

/** @param verb the verb after "did not" in the error's text, such as `answer` */
export function timeoutError(host: string, verb: string, timeoutMs: number): DeskbellError {
  return new DeskbellError('ERR_TIMEOUT', `${host} did not ${verb} within ${timeoutMs / 1000} s.`);
}

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
  pushServiceAddresses: isTextList,
  nat64Prefix: isText,
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

/** Header objects that passed the check. Many messages share one object. */
const legalHeaders = new WeakSet<PushHeaders>();
/** Fields that callers must not set: HTTP itself writes them (RFC 9113 §8.2.2), or the transport never sends them. */
const ownFields =
  /^(?:host|content-length|connection|keep-alive|proxy-connection|transfer-encoding|upgrade|te|expect|trailer)$/;

/** @returns what is wrong with a request, or `undefined` */
export function checkRequest({ path, headers }: PushRequest): DeskbellError | undefined {
  if (!/^\/[\x21-\x7e]*$/.test(path)) {
    return new DeskbellError(
      'ERR_ENDPOINT_INVALID',
      'The path holds white space or characters to be escaped.',
    );
  }
  return checkHeaders(headers);
}

/** @returns what is wrong with header fields, or `undefined` */
export function checkHeaders(headers: PushHeaders): DeskbellError | undefined {
  if (legalHeaders.has(headers)) return undefined;
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name) || ownFields.test(name) || !/^[\x20-\x7e]*$/.test(value)) {
      return new DeskbellError(
        'ERR_MESSAGE_INVALID',
        `The header field ${JSON.stringify(name)} is not legal.`,
      );
    }
  }
  legalHeaders.add(headers);
  return undefined;
}
