// The listener is reached by its own addresses only, and by its own pages only. A page of another site can have its name
// resolve to this machine (DNS rebinding), which the Host header gives away; and cookies ignore ports, so that a page of the
// public listener counts as the same site, which Origin gives away.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AddressInfo } from 'node:net';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { isLoopback } from '../http/client-address.ts';

export interface HostCheckSettings {
  /** Where the listener listens. */
  readonly host: string;
  /** Further hosts that it is reached by, such as `ops.example.org`, with a port where that is not the listener's. */
  readonly hosts: readonly string[];
  /** Browsers reach it by https. */
  readonly isSecure: boolean;
}

/** To be called before any route is added. */
export function checkHost(app: FastifyInstance, settings: HostCheckSettings): void {
  let known: ReadonlySet<string> | undefined;
  app.addHook('onRequest', (request, _reply, done) => {
    known ??= hostsOf(settings, (app.server.address() as AddressInfo).port);
    done(faultOf(request, known, settings.isSecure));
  });
}

function hostsOf({ host, hosts, isSecure }: HostCheckSettings, port: number): ReadonlySet<string> {
  const names = isLoopback(host) ? ['127.0.0.1', 'localhost', '[::1]', bracket(host)] : [bracket(host)];
  const isDefaultPort = port === (isSecure ? 443 : 80);
  const withPort = [...names, ...hosts].flatMap((name) => {
    const isOwn = names.includes(name);
    return [`${name}:${port}`, ...(isOwn && !isDefaultPort ? [] : [name])];
  });
  return new Set(withPort.map((name) => name.toLowerCase()));
}

const bracket = (host: string): string => (host.includes(':') ? `[${host}]` : host);

function faultOf(
  { headers }: FastifyRequest,
  known: ReadonlySet<string>,
  isSecure: boolean,
): DeskbellError | undefined {
  const host = headers.host?.toLowerCase();
  if (host === undefined || !known.has(host)) {
    return new DeskbellError('ERR_HOST_REFUSED', 'The Host header names none of the hosts of this listener.');
  }
  const { origin } = headers;
  const isOwnOrigin = origin === undefined || origin.toLowerCase() === `http${isSecure ? 's' : ''}://${host}`;
  const site = headers['sec-fetch-site'];
  // A link from elsewhere may lead to a page; it carries no cookie then, since that is SameSite=Strict.
  const isLink = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  const isOwnSite = site === undefined || site === 'same-origin' || site === 'none' || isLink;
  if (isOwnOrigin && isOwnSite) return undefined;
  return new DeskbellError('ERR_ORIGIN_REFUSED', 'Only pages of this listener may make requests to it.');
}
