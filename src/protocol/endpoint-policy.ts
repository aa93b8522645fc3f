// Decides which endpoints are allowed: those of browsers' own push services and of services that the operator added, or
// those at any public host. The host comes from the parsed URL and is never searched for in the text. The address that
// a host resolves to is checked later, when the connection is made.
import { DeskbellError, type FieldError } from '../errors/deskbell-error.ts';
import { cutText } from '../errors/untrusted-text.ts';
import { type ParsedEndpoint, parseEndpoint, splitEndpoint } from './endpoint.ts';
import { anyPath, knownDomains, knownHosts, type KnownPaths } from './known-push-services.ts';

export const maxEndpointLength = 4096;

/** What is wrong with an endpoint. The object has the properties of a `FieldError`, except `pointer`. */
export type EndpointFault = Omit<FieldError, 'pointer'>;

/** Push services to allow besides the known ones: `'public'`, or a list that may contain `public`. */
export type PushServices = 'public' | readonly string[];

/** A policy decides which endpoints are allowed. `createEndpointPolicy` makes a policy. */
export interface EndpointPolicy {
  /** Returns what is wrong with an endpoint, or `undefined` if it is allowed. */
  check(endpoint: string): EndpointFault | undefined;
  /**
   * Source of a regular expression (ECMA-262, flag `u`) that matches the normalized scheme, host and port of allowed
   * endpoints. It ends with a lookahead for what may follow.
   */
  readonly originPattern: string;
  /**
   * False if a known push service does not currently use this path. The endpoint is still allowed, because vendors
   * change their paths, but many such endpoints are worth an alert.
   */
  hasKnownPath(endpoint: string): boolean;
  /** True if the operator named exactly this origin. It may then use http and a loopback or private address. */
  isNamedOrigin(origin: string): boolean;
  /** True if any public host is allowed. */
  readonly admitsPublic: boolean;
  /** True for an origin that is neither known nor listed, and is allowed only because of `public`. */
  isUnlisted(origin: string): boolean;
}

/**
 * Creates the policy that decides which endpoints are allowed: those of known push services, and those that the
 * operator adds.
 *
 * @param pushServices origins (`https://push.example.org`, `http://127.0.0.1:8090`), all hosts under a domain
 *   (`https://*.push.example.org`), or `public` for any public host over https
 * @throws {DeskbellError} ERR_CONFIGURATION if an entry is none of these
 */
export function createEndpointPolicy(pushServices: PushServices = []): EndpointPolicy {
  const namedOrigins = new Set<string>();
  const domains = new Map(knownDomains);
  const entries = [pushServices].flat();
  const admitsPublic = entries.includes('public');
  for (const pushService of entries) {
    if (pushService === 'public') continue;
    const domain = /^https:\/\/\*\.(.+)$/i.exec(pushService)?.[1];
    if (domain === undefined) namedOrigins.add(readOrigin(pushService, pushService));
    else domains.set(readDomain(domain, pushService), anyPath);
  }

  /** @returns `undefined` if the host is not a known push service */
  const pathsOf = (host: string): KnownPaths | undefined => {
    const known = knownHosts.get(host);
    if (known !== undefined || !hasLabels(host)) return known;
    for (const [domain, paths] of domains) if (host.endsWith(`.${domain}`)) return paths;
    return undefined;
  };

  const listed = [
    ...Array.from(knownHosts, ([host, paths]) => ({ pattern: toPattern(host), paths })),
    ...Array.from(domains, ([domain, paths]) => ({ pattern: labelsPattern + toPattern(domain), paths })),
  ];
  const listedPattern = listed.map(({ pattern }) => pattern).join('|');
  const originPatterns = [
    ...listed.map(({ pattern, paths }) => `https://${pattern}${notFollowedBy(paths)}`),
    ...Array.from(namedOrigins, toPattern),
    ...(admitsPublic ? [`https://(?!(?:${listedPattern})(?:[:/?]|$))${publicHostPattern}`] : []),
  ];

  return {
    originPattern: `(?:${originPatterns.join('|')})`,

    isNamedOrigin: (origin) => namedOrigins.has(origin),

    admitsPublic,

    isUnlisted: (origin) =>
      admitsPublic && !namedOrigins.has(origin) && pathsOf(new URL(origin).hostname) === undefined,

    hasKnownPath: (endpoint) => {
      const { origin, path } = splitEndpoint(endpoint);
      return namedOrigins.has(origin) || (pathsOf(new URL(origin).hostname) ?? anyPath).endpoints.test(path);
    },

    check(endpoint) {
      if (endpoint.length > maxEndpointLength) return tooLong(endpoint.length);
      const parsed = parseEndpoint(endpoint);
      if (parsed === undefined) return invalid('The endpoint is not an absolute https: URL.');
      const fault = findFormFault(parsed);
      if (fault !== undefined) return invalid(fault);
      const { url, path } = parsed;
      // an empty path becomes "/"
      const length = url.origin.length + path.length;
      if (length > maxEndpointLength) return tooLong(length);
      if (namedOrigins.has(url.origin)) return undefined;
      if (url.protocol !== 'https:')
        return invalid(`The endpoint must begin with https:${remedyForLoopback(url)}.`);
      const paths = pathsOf(url.hostname);
      if (admitsPublic && paths === undefined) {
        if (!publicName.test(url.hostname)) return refused(`${shorten(url.host)} is not a public host name.`);
        return url.port === '' || Number(url.port) >= firstPort
          ? undefined
          : refused(
              `The port of ${shorten(url.host)} is neither 443 nor ${firstPort} or above; add its origin to "pushServices" if it is yours.`,
            );
      }
      if (url.port !== '' || paths === undefined) {
        return refused(
          `${shorten(url.host)} is not a known push service; add its origin to "pushServices" if it is yours.`,
        );
      }
      if (!paths.otherApis.test(path)) return undefined;
      return invalid(
        `The endpoint is another API of ${url.host}, not a subscription; give what pushManager.subscribe gave.`,
      );
    },
  };
}

function remedyForLoopback({ hostname, origin }: URL): string {
  const isLoopback = /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  return isLoopback ? `, unless "pushServices" names its push service (--push-services ${origin})` : '';
}

const invalid = (detail: string): EndpointFault => ({ code: 'ERR_ENDPOINT_INVALID', detail });

const refused = (detail: string): EndpointFault => ({ code: 'ERR_ENDPOINT_HOST_REFUSED', detail });

const tooLong = (length: number): EndpointFault => ({
  code: 'ERR_ENDPOINT_TOO_LONG',
  detail: `The endpoint has ${length} characters; at most ${maxEndpointLength} are allowed.`,
});

/**
 * The WHATWG parser repairs a lot (line breaks, backslashes, `https:host`, 2130706433 for 127.0.0.1, percent-encoded
 * hosts). Endpoints are sent verbatim, so an endpoint that needs repair is refused.
 */
function findFormFault({ url, authority, hasNormalAuthority, path }: ParsedEndpoint): string | undefined {
  if (path.includes('#')) return 'The endpoint has a fragment; it must not.';
  if (authority.includes('@')) return 'The endpoint has user information; it must not.';
  if (!hasNormalAuthority) return 'The host of the endpoint is not written in its normal form.';
  if (path === url.pathname + url.search) return undefined;
  return 'The path of the endpoint holds white space, backslashes, dot segments or characters to be escaped.';
}

function readOrigin(origin: string, entry: string): string {
  const url = URL.parse(origin);
  const isOrigin =
    url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href && url.port !== '0';
  if (!isOrigin || /[*?#@]/.test(origin)) {
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      `"pushServices" holds ${JSON.stringify(shorten(entry))}, which is not an origin. ` +
        'Give scheme, host and port only, such as https://push.example.org, http://127.0.0.1:8090 or https://*.push.example.org; ' +
        'or "public" for any public host.',
    );
  }
  return url.origin;
}

/** One or more labels, each followed by a dot. Punycode labels are excluded (RFC 5891 §4). */
const labelsPattern = String.raw`(?:(?!xn--)[a-z\d](?:[a-z\d-]*[a-z\d])?\.)+`;

const notFollowedBy = ({ otherApis }: KnownPaths): string => `(?!${otherApis.source.slice('^'.length)})`;

const toPattern = (origin: string): string => origin.replaceAll(/[.[\]]/g, String.raw`\$&`);

/** False if a label is empty. The URL parser accepts empty labels. */
const hasLabels = (host: string): boolean => host.split('.').every((label) => label !== '');

/**
 * Returns the domain of `https://*.domain`. The domain must have at least two labels, so that nobody allows a whole
 * top-level domain by mistake.
 */
function readDomain(domain: string, entry: string): string {
  const { hostname, port } = new URL(readOrigin(`https://${domain}`, entry));
  if (port !== '' || !/^[^.]+(\.[^.]+)+$/.test(hostname) || /\d$/.test(hostname)) {
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      `"pushServices" holds ${JSON.stringify(shorten(entry))}: behind "*." there must be a domain of two or more labels, without a port.`,
    );
  }
  return hostname;
}

const shorten = (text: string): string => cutText(text, 80);

// Unlisted push services are hosts that Deskbell does not know and the operator has not named, such as ntfy, NextPush
// and self-hosted autopush (UnifiedPush). They are allowed only if the operator allows any public host. Strangers
// choose these hosts, so each has low limits. Without limits, a stranger could use us to flood a third party.

export const unlistedLimits = {
  /** Messages per second, unless the operator sets another rate. */
  perSecond: 10,
  /** Connections per thread. */
  connections: 2,
  /** New subscriptions per minute. */
  registrationsPerMinute: 60,
} as const;

/** Maximum number of unlisted push services, unless the operator sets another. */
export const defaultMaxPushServices = 100;

/** Top-level domains that have no public hosts (RFC 6761, RFC 6762, RFC 7686, RFC 8375, ICANN). */
const notPublic = '(?:alt|arpa|example|home|internal|invalid|lan|local|localhost|onion|test)';
const label = String.raw`[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?`;
/** Matches host names that may be public, as `URL.hostname` returns them. IP addresses do not match. */
const publicName = new RegExp(
  String.raw`^(?=.{4,253}$)(?:${label}\.)+(?!${notPublic}$)[a-z](?:${label})$`,
  'u',
);

const labelInPattern = `(?!xn--)${label}`;
/** Mail servers and the like use lower ports. Nobody should be able to reach them through us. */
const firstPort = 1024;
const port = String.raw`(?:102[4-9]|10[3-9]\d|1[1-9]\d{2}|[2-9]\d{3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])`;

/** Source of a regular expression for a public host and its port, both normalized, without Punycode labels. */
const publicHostPattern =
  String.raw`(?=[^:/?]{4,253}(?:[:/?]|$))(?:${labelInPattern}\.)+(?!xn--|${notPublic}(?:[:/?]|$))[a-z]${label}` +
  String.raw`(?::${port})?(?=[/?]|$)`;
