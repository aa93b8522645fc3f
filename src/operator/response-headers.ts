// Header fields of every answer of the listener. Pages have more: console/page-headers.ts.

/** Nothing of the listener is for caches, frames or other origins. */
export const responseHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
} as const;
