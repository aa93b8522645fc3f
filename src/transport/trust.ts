// Whom TLS trusts.
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

/** Trust in the system's authorities and the given ones. Made once and not before it is needed: it is expensive. */
export function createTrust(ca: readonly string[] = []): () => SecureContext {
  let context: SecureContext | undefined;
  return () => {
    context ??= createSecureContext(ca.length === 0 ? {} : { ca: [...getCACertificates('default'), ...ca] });
    return context;
  };
}
