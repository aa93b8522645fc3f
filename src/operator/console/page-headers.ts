// What browsers permit to a page of the console: its security headers, with the content security policy.

/** Only files of the listener itself; data URLs are pictures in the preview of a notification. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Of every page, errors included. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': contentSecurityPolicy,
  'cross-origin-opener-policy': 'same-origin',
  // With "no-referrer", browsers send "Origin: null" with a form.
  'referrer-policy': 'same-origin',
} as const;
