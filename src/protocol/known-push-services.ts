// The browsers' push services: their hosts, and what is known of the paths there.

/** What is known of the paths at a vendor's hosts. */
export interface KnownPaths {
  /** Of endpoints, as they are at present. */
  readonly endpoints: RegExp;
  /**
   * Of other APIs of the same host. Whatever is posted there as a push message is refused, with 401 as a rule, as if our
   * token were bad.
   */
  readonly otherApis: RegExp;
}

/** Where nothing is known. */
export const anyPath: KnownPaths = { endpoints: /^/u, otherApis: /^(?!)/u };
const fcm: KnownPaths = {
  endpoints: /^\/(?:fcm\/send|(?:preprod\/)?wp)\/./u,
  // sending with an account of Google's, sending as it was before, device groups, batches, the API's description
  otherApis:
    /^\/(?:v1(?:beta1)?\/projects\/|fcm\/send\/?(?:$|\?)|fcm\/(?:notification|connect)|batch(?:$|[/?])|\$discovery\/)/u,
};
const gcm: KnownPaths = {
  endpoints: /^\/gcm\/send\/./u,
  otherApis: /^\/gcm\/(?:send\/?(?:$|\?)|(?:google)?notification)/u,
};
const mozilla: KnownPaths = {
  endpoints: /^\/(?:wpush\/v\d+|push)\/./u,
  // messages, registration of bridges, health
  otherApis: /^\/(?:m\/|v1\/|(?:status|health|__[a-z]+__)\/?(?:$|\?))/u,
};
const windows: KnownPaths = { endpoints: /^\/(?:w\/)?\?token=./u, otherApis: anyPath.otherApis };
const apple: KnownPaths = {
  endpoints: /^\/[\w-]+$/u,
  // APNs for apps: devices, broadcasts, channels
  otherApis: /^\/(?:3\/device\/|4\/broadcasts\/|1\/apps\/)/u,
};

export const knownHosts: ReadonlyMap<string, KnownPaths> = new Map([
  ['fcm.googleapis.com', fcm],
  ['android.googleapis.com', gcm],
  ['jmt17.google.com', fcm], // Chromium without Google's API keys
  ['updates.push.services.mozilla.com', mozilla],
]);

/** All hosts under them. */
export const knownDomains: ReadonlyMap<string, KnownPaths> = new Map([
  ['push.services.mozilla.com', mozilla],
  ['notify.windows.com', windows],
  ['push.apple.com', apple],
]);
