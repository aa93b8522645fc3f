// The addresses of the local push service: endpoints, messages, WebSocket and control.

export type Addresses = ReturnType<typeof createAddresses>;

/** @param origin scheme, host and port; the scheme's default port is omitted */
export function createAddresses(origin: string) {
  return {
    origin,
    webSocketUrl: `${origin.replace(/^http/, 'ws')}/`,
    controlUrl: `${origin}/control`,
    endpoint: (token: string) => `${origin}/wpush/${token}`,
    messageUrl: (version: string) => `${origin}/m/${version}`,
  };
}

/** Returns the last part of an endpoint, which identifies its subscription. */
export function tokenOf(endpoint: string): string {
  return endpoint.slice(endpoint.lastIndexOf('/') + 1);
}

/** Names a subscription by the start of its token, because anyone who knows an endpoint can send to it. */
export function nameOf(token: string): string {
  return token.slice(0, 8);
}

/** Returns a listener's origin. A wildcard address becomes loopback, because clients cannot connect to a wildcard. */
export function originOf(scheme: 'http' | 'https', host: string, port: number): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const authority = name.includes(':') ? `[${name}]` : name;
  return new URL(`${scheme}://${authority}:${port}`).origin;
}

export function checkOrigin(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || text.replace(/\/$/, '') !== url.origin) {
    throw new TypeError(
      `origin must be an http or https origin such as http://push.test:8090, not "${text}"`,
    );
  }
  return url.origin;
}
