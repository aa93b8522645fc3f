// Whom TLS trusts.
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

/** Trust in the authorities that Node trusts and in the given ones. Made when it is first needed: it is expensive. */
export function createTrust(ca: readonly string[] = []): () => SecureContext {
  let context: SecureContext | undefined;
  return () => {
    context ??= createSecureContext(ca.length === 0 ? {} : { ca: [...getCACertificates('default'), ...ca] });
    return context;
  };
}
