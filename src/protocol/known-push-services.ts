// The browsers' own push services: their hosts, paths and names, and functions that identify an origin's push service.

export interface KnownPaths {
  /** Current paths of endpoints. */
  readonly endpoints: RegExp;
  /** Paths of the host's other APIs, which refuse push messages, usually with 401 as if our token were invalid. */
  readonly otherApis: RegExp;
}

export const anyPath: KnownPaths = { endpoints: /^/u, otherApis: /^(?!)/u };
const fcm: KnownPaths = {
  endpoints: /^\/(?:fcm\/send|(?:preprod\/)?wp)\/./u,
  // the HTTP v1 API, the legacy API, device groups, batches, and the description of the API
  otherApis:
    /^\/(?:v1(?:beta1)?\/projects\/|fcm\/send\/?(?:$|\?)|fcm\/(?:notification|connect)|batch(?:$|[/?])|\$discovery\/)/u,
};
const gcm: KnownPaths = {
  endpoints: /^\/gcm\/send\/./u,
  otherApis: /^\/gcm\/(?:send\/?(?:$|\?)|(?:google)?notification)/u,
};
const mozilla: KnownPaths = {
  endpoints: /^\/(?:wpush\/v\d+|push)\/./u,
  // the paths of messages, bridge registration and health checks
  otherApis: /^\/(?:m\/|v1\/|(?:status|health|__[a-z]+__)\/?(?:$|\?))/u,
};
const windows: KnownPaths = { endpoints: /^\/(?:w\/)?\?token=./u, otherApis: anyPath.otherApis };
const apple: KnownPaths = {
  endpoints: /^\/[\w-]+$/u,
  // APNs for native apps: devices, broadcasts and channels
  otherApis: /^\/(?:3\/device\/|4\/broadcasts\/|1\/apps\/)/u,
};

export const knownHosts: ReadonlyMap<string, KnownPaths> = new Map([
  ['fcm.googleapis.com', fcm],
  ['android.googleapis.com', gcm],
  ['jmt17.google.com', fcm], // Chromium without Google's API keys
  ['updates.push.services.mozilla.com', mozilla],
]);

/** Domains under which every host belongs to a known push service. */
export const knownDomains: ReadonlyMap<string, KnownPaths> = new Map([
  ['push.services.mozilla.com', mozilla],
  ['notify.windows.com', windows],
  ['push.apple.com', apple],
]);

/**
 * The name under which a push service is counted and shown. A vendor has many hosts under one domain, so
 * `https://db5p.notify.windows.com` becomes `notify.windows.com`. The name of any other push service is its host, with
 * the port if it is not the default.
 *
 * @param address the origin of a push service, one of its endpoints, or a name
 */
export function pushServiceName(address: string): string {
  const host = (address.includes('://') && URL.parse(address)?.host) || address;
  for (const domain of knownDomains.keys()) if (host.endsWith(`.${domain}`)) return domain;
  return host;
}

/** True for Windows' push service (WNS), which Edge uses. */
export const isWindowsPushService = (origin: string): boolean =>
  new URL(origin).hostname.endsWith('.notify.windows.com');

/** True for Apple's push service, which Safari uses. */
export const isApplePushService = (origin: string): boolean =>
  new URL(origin).hostname.endsWith('.push.apple.com');

/** True for Google's push service (FCM), which Chrome uses. */
export const isGooglePushService = (origin: string): boolean =>
  new URL(origin).hostname === 'fcm.googleapis.com';
