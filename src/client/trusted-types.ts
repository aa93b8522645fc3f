// The script address in the form that a content security policy with `require-trusted-types-for 'script'` needs. The
// policy's name is public: sites list it in `trusted-types`.

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): TrustedTypePolicy;
}
interface TrustedTypePolicy {
  createScriptURL(url: string): string;
}

let policy: TrustedTypePolicy | undefined;
let isRefused = false;

export function trustedScriptUrl({ href }: URL): string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  try {
    policy ??= trustedTypes?.createPolicy('deskbell', { createScriptURL: (url) => url });
  } catch {
    isRefused = true;
  }
  return policy?.createScriptURL(href) ?? href;
}

/** True if the page's content security policy does not list the policy. */
export function isTrustedTypesRefused(): boolean {
  return isRefused;
}
