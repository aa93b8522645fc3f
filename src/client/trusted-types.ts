// The address of the service worker's script as a page must give it whose content security policy has
// `require-trusted-types-for 'script'`. The name of the policy is public: sites list it in `trusted-types`.

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): TrustedTypePolicy;
}
interface TrustedTypePolicy {
  createScriptURL(url: string): string;
}

let policy: TrustedTypePolicy | undefined;
let isRefused = false;

/** Made when it is first needed: a page whose site registers its service worker by itself needs none. */
export function trustedScriptUrl({ href }: URL): string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  try {
    policy ??= trustedTypes?.createPolicy('deskbell', { createScriptURL: (url) => url });
  } catch {
    isRefused = true;
  }
  return policy?.createScriptURL(href) ?? href;
}

/** Whether the page's content security policy does not list it. */
export function isTrustedTypesRefused(): boolean {
  return isRefused;
}
