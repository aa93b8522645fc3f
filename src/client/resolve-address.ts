// What an address in a page stands for.

/**
 * Relative to the page. User and password of a login in front of it, which browsers leave in `baseURI`, are left out: no
 * browser fetches a URL that has them, but each sends them by itself.
 */
export function resolveAddress(address: string | URL): URL {
  const base = new URL(document.baseURI);
  base.username = '';
  base.password = '';
  return new URL(address, base);
}
