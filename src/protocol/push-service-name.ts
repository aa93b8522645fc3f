// The name under which push services are counted and shown together: a vendor has any number of hosts under one domain,
// and whoever subscribes chooses among them.
import { knownDomains } from './known-push-services.ts';

/** `notify.windows.com` for `https://db5p.notify.windows.com`; the host, with a port of its own, for all others. */
export function pushServiceName(origin: string): string {
  const { host } = new URL(origin);
  for (const domain of knownDomains.keys()) if (host.endsWith(`.${domain}`)) return domain;
  return host;
}
