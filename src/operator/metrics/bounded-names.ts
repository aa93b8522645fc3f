// Label values that strangers could multiply: where an operator has admitted a whole domain, or any public host, anybody can
// subscribe with any number of hosts.
import { createEndpointPolicy, type PushServices } from '../../protocol/endpoint-policy.ts';
import { knownDomains, knownHosts } from '../../protocol/known-push-services.ts';

const maxNames = 50;
const shared = 'other';

export class BoundedNames {
  readonly #admitted = new Set<string>();
  readonly #policy: ReturnType<typeof createEndpointPolicy>;

  /** @param pushServices those of the configuration */
  constructor(pushServices: PushServices = []) {
    this.#policy = createEndpointPolicy(pushServices);
  }

  /**
   * The name itself for push services that Deskbell knows or the operator lists, and for the first fifty hosts under a domain that
   * the operator lists; `other` for all others, unlisted ones among them.
   *
   * @param name as `pushServiceName` gives it
   */
  admit(name: string): string {
    const { isNamedOrigin, isUnlisted } = this.#policy;
    const isReserved = knownHosts.has(name) || knownDomains.has(name);
    if (isReserved || isNamedOrigin(`https://${name}`) || isNamedOrigin(`http://${name}`)) return name;
    if (this.#admitted.has(name)) return name;
    if (isUnlisted(`https://${name}`) || this.#admitted.size >= maxNames) return shared;
    this.#admitted.add(name);
    return name;
  }
}
