// Which hosts are this machine and nobody else's.

/** @param host a name or an address, without port and brackets */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host);
}
