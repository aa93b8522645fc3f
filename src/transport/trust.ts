// Whom TLS trusts.
import { isDeepStrictEqual } from 'node:util';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

/** The last one that trusts others than Node does: making one takes thirty milliseconds. */
let last: { readonly ca: readonly string[]; readonly context: SecureContext } | undefined;

/** Trust in the authorities that Node trusts and in the given ones. Made when it is first needed: it is expensive. */
export function createTrust(given: readonly string[] = []): () => SecureContext {
  let context: SecureContext | undefined;
  // by itself, a context of Deno trusts neither NODE_EXTRA_CA_CERTS nor DENO_CERT
  const hasAll = given.length === 0 && !('deno' in process.versions);
  return () => (context ??= hasAll ? createSecureContext() : trustAlso(given));
}

function trustAlso(given: readonly string[]): SecureContext {
  const ca = [...getCACertificates('default'), ...given];
  if (!isDeepStrictEqual(last?.ca, ca)) last = { ca, context: createSecureContext({ ca }) };
  return last!.context;
}
