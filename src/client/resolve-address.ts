/**
 * Resolves an address relative to the page. Leaves out user and password, which browsers keep in `baseURI`: no browser
 * fetches a URL with them, but each sends them by itself.
 */
export function resolveAddress(address: string | URL): URL {
  const base = new URL(document.baseURI);
  base.username = '';
  base.password = '';
  return new URL(address, base);
}
