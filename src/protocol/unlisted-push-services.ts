// Push services that nobody has listed: where any public host is admitted, those that are neither known nor named by the
// operator, such as ntfy, NextPush and an autopush of one's own (UnifiedPush). A stranger chooses them, so that they get
// little at a time: nobody is to flood a third party through us.

/** Each of them gets at most this. */
export const unlistedLimits = {
  /** Messages, where the operator gives no other rate. */
  perSecond: 10,
  /** Of one thread. */
  connections: 2,
  /** New subscriptions that a service takes. */
  registrationsPerMinute: 60,
} as const;

/** How many there may be, unless the operator says otherwise. */
export const defaultMaxPushServices = 100;

/** Top-level domains that lead to no public host (RFC 6761, RFC 6762, RFC 7686, RFC 8375, ICANN). */
const notPublic = '(?:alt|arpa|example|home|internal|invalid|lan|local|localhost|onion|test)';
const label = String.raw`[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?`;
const publicName = new RegExp(
  String.raw`^(?=.{4,253}$)(?:${label}\.)+(?!${notPublic}$)[a-z](?:${label})$`,
  'u',
);

/** True for a name that may be one of the public Internet; an address is none. @param host as `URL.hostname` gives it */
export const isPublicHost = (host: string): boolean => publicName.test(host);

const labelInPattern = `(?!xn--)${label}`;
const port = String.raw`(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])`;

/** Source of a regular expression of such a host and its port, in their normal form; labels that need decoding are left out. */
export const publicHostPattern =
  String.raw`(?=[^:/?]{4,253}(?:[:/?]|$))(?:${labelInPattern}\.)+(?!xn--|${notPublic}(?:[:/?]|$))[a-z]${label}` +
  String.raw`(?::(?!443(?:[/?]|$))${port})?(?=[/?]|$)`;
