// Checks what the types cannot hold callers in JavaScript to, so that a wrong option fails when the transport is made
// and not at the first connection.
import { X509Certificate } from 'node:crypto';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { createEndpointPolicy } from '../protocol/endpoint-policy.ts';
import { parseProxy } from './proxy.ts';
import type { TransportOptions } from './transport.ts';

/** What `setTimeout` takes; a longer time would end at once. */
export const maxTimeoutMs = 2 ** 31 - 1;

/** @throws {DeskbellError} ERR_CONFIGURATION, naming the option, what is wrong with it and what to give instead */
export function checkOptions(options: TransportOptions): void {
  for (const name of ['pushServices', 'ca', 'noProxy'] as const) checkList(name, options[name]);
  for (const name of ['connectTimeoutMs', 'responseTimeoutMs', 'idleTimeoutMs'] as const) {
    checkTimeout(name, options[name]);
  }
  for (const [index, pem] of (options.ca ?? []).entries()) checkCertificate(`ca[${index}]`, pem);
  createEndpointPolicy(options.pushServices);
  if (options.proxy !== undefined) parseProxy(options.proxy);
}

function checkList(name: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof value === 'string')
    throw wrong(name, 'must be an array of strings, not a string: put it in [ ]');
  if (!Array.isArray(value)) throw wrong(name, `must be an array of strings, not ${kindOf(value)}`);
  for (const [index, item] of value.entries()) {
    if (typeof item !== 'string') throw wrong(`${name}[${index}]`, `must be a string, not ${kindOf(item)}`);
  }
}

function checkTimeout(name: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof value === 'number' && value > 0 && value <= maxTimeoutMs) return;
  const given = typeof value === 'number' ? String(value) : kindOf(value);
  throw wrong(name, `must be a number of milliseconds over 0 and at most ${maxTimeoutMs}, not ${given}`);
}

function checkCertificate(name: string, pem: string): void {
  try {
    void new X509Certificate(pem);
  } catch (cause) {
    const message = 'is not a certificate in PEM: give the text that begins with -----BEGIN CERTIFICATE-----';
    throw wrong(name, message, cause);
  }
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : typeof value;
}

function wrong(name: string, what: string, cause?: unknown): DeskbellError {
  return new DeskbellError('ERR_CONFIGURATION', `"${name}" ${what}.`, { cause });
}
