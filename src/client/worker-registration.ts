// Finds or makes the service worker registration that a page uses, or says why there is none.
import { ClientError, permissionDenied, reported } from './client-error.ts';
import { question } from './subscription.ts';
import { lateRegistrationMs, withTimeLimit } from './time-limit.ts';

export class WorkerRegistration {
  readonly #scriptUrl: URL;
  /** Empty if no browser would register the script. */
  readonly #folder: string;
  readonly #isGiven: boolean;
  readonly #timeoutMs: number;

  /** @param scriptUrl if undefined, the registration that controls the page is used, whatever its script is */
  constructor(scriptUrl: URL | undefined, timeoutMs: number) {
    this.#isGiven = scriptUrl !== undefined;
    this.#scriptUrl = scriptUrl ?? resolveAddress('service-worker.js');
    this.#folder = this.#scriptUrl.origin === location.origin ? new URL('./', this.#scriptUrl).href : '';
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Finds the given script's registration, whoever made it. Without a script, finds the page's registration.
   *
   * @throws {ClientError} permission-denied if the browser's settings do not allow service workers on the site
   */
  async find(): Promise<ServiceWorkerRegistration | undefined> {
    const { serviceWorker } = navigator;
    try {
      if (!this.#isGiven) return await serviceWorker.getRegistration(location.href);
      const registrations = await serviceWorker.getRegistrations();
      const own = registrations.filter((registration) => this.#isRunBy(registration));
      return own.find(controlsPage) ?? own[0] ?? registrations.find(({ scope }) => scope === this.#folder);
    } catch (cause) {
      throw permissionDenied(cause, 'Service workers, or cookies and site data,');
    }
  }

  /**
   * Returns the existing registration, or registers the script, which may replace another script. Resolves when a
   * service worker is active, since Chromium subscribes only then.
   *
   * @throws {ClientError} service-worker-failed
   */
  async register(): Promise<ServiceWorkerRegistration> {
    let registration = await this.find();
    if (!registration || (this.#isGiven && !this.#isRunBy(registration))) {
      registration = await this.#registerScript(registration?.scope);
    }
    try {
      const { active, waiting, installing } = registration;
      // right after registration the script is still being loaded
      const installed = async () => activation(waiting ?? installing ?? (await newWorker(registration)));
      if (!active) await withTimeLimit(this.#timeoutMs, installed());
    } catch (cause) {
      throw await this.#failure(cause);
    }
    return registration;
  }

  /** Checks that the site's own service worker imports Deskbell's. @throws {ClientError} service-worker-failed */
  async check(registration: ServiceWorkerRegistration): Promise<void> {
    const { active, waiting, installing, scope } = registration;
    const answered = new Promise<void>((resolve) => {
      const ask = async (worker: ServiceWorker | null): Promise<void> => {
        if (!worker) return;
        await answerOf(worker);
        // if the newer version includes Deskbell, it will replace the active version without our help
        if (worker !== active) await activation(worker);
        resolve();
      };
      const askQuietly = (worker: ServiceWorker | null) => void ask(worker).catch(() => undefined);
      [active, waiting, installing].forEach(askQuietly);
      registration.addEventListener('updatefound', () => askQuietly(registration.installing));
    });
    try {
      await withTimeLimit(this.#timeoutMs, answered);
    } catch (cause) {
      throw failed(
        `The service worker ${pathOf(active)} with the scope ${scope} does not import Deskbell's, so it would not show messages. ` +
          'Import your copy of deskbell/service-worker.js in it. If it does, its latest version failed to install: ' +
          'see what register() and update() reject with.',
        cause,
      );
    }
  }

  async #registerScript(scope = this.#folder): Promise<ServiceWorkerRegistration> {
    const { serviceWorker } = navigator;
    try {
      const registering = serviceWorker.register(trustedScriptUrl(this.#scriptUrl), { scope });
      return await withTimeLimit(this.#timeoutMs, registering);
    } catch (cause) {
      // Wait for a moment, because the site may be about to register its own service worker.
      const late = this.#isGiven ? undefined : withTimeLimit(lateRegistrationMs, serviceWorker.ready);
      const registration = await late?.catch(() => this.find());
      if (registration) return registration;
      throw await this.#failure(cause);
    }
  }

  async #failure(cause: unknown): Promise<ClientError> {
    const description = await describeFailure(this.#scriptUrl, this.#timeoutMs);
    if (this.#isGiven) return failed(description, cause);
    const scopes = (await navigator.serviceWorker.getRegistrations()).map(({ scope }) => scope);
    const others = scopes.length === 0 ? '' : ` There are registrations with the scope ${scopes.join(', ')}.`;
    return failed(
      `No service worker controls the page ${location.origin}${location.pathname}.${others} ` +
        `If the site registers one, see what register() rejects with. ${description}`,
      cause,
    );
  }

  /** Ignores the query, which may change with each version of the site. */
  #isRunBy({ active, waiting, installing }: ServiceWorkerRegistration): boolean {
    const path = pathOf(installing ?? waiting ?? active);
    return this.#folder !== '' && this.#scriptUrl.pathname === path;
  }
}

const pathOf = (serviceWorker: ServiceWorker | null): string =>
  serviceWorker ? new URL(serviceWorker.scriptURL).pathname : '';

function failed(message: string, cause: unknown): ClientError {
  return reported(new ClientError('service-worker-failed', message, cause));
}

function controlsPage({ scope }: ServiceWorkerRegistration): boolean {
  return location.href.startsWith(scope);
}

function newWorker(registration: ServiceWorkerRegistration): Promise<ServiceWorker> {
  return new Promise((resolve) => {
    registration.addEventListener('updatefound', () => resolve(registration.installing!), { once: true });
  });
}

function activation(serviceWorker: ServiceWorker): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (serviceWorker.state === 'activated') resolve();
      if (serviceWorker.state === 'redundant') reject(new Error('It failed while it was installed.'));
    };
    serviceWorker.addEventListener('statechange', look);
    look();
  });
}

function answerOf(serviceWorker: ServiceWorker): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', () => resolve(), { once: true });
    port1.start();
    serviceWorker.postMessage({ deskbell: question }, [port2]);
  });
}

/** Fetches a script that the browser refuses, to find out what is wrong with it. Browsers do not say what is wrong. */
async function describeFailure(url: URL, timeoutMs: number): Promise<string> {
  const remedy = 'Serve a copy of deskbell/service-worker.js there, or set serviceWorkerUrl.';
  if (url.protocol === 'data:') {
    return "serviceWorkerUrl is a data: URL, which no browser registers. In Vite, import 'deskbell/service-worker.js?url&no-inline'.";
  }
  if (url.origin !== location.origin) {
    return `serviceWorkerUrl is on ${url.origin}; it must be on the page's own origin.`;
  }
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await fetch(url, { cache: 'no-store', signal }).catch(() => undefined);
  const name = `The service worker ${url.pathname}`;
  if (!response) return `${name} could not be loaded.`;
  if (!response.ok) return `${name} could not be loaded: the server answered ${response.status}. ${remedy}`;
  const contentType = response.headers.get('content-type') ?? 'no content type';
  if (contentType.includes('html')) {
    return `${name} is not there: the server answered with an HTML page instead of the script. ${remedy}`;
  }
  if (!contentType.includes('javascript')) {
    return `${name} is served as ${contentType}; browsers take it only as text/javascript.`;
  }
  if (isPolicyRefused) {
    return 'The content security policy of the page refuses the Trusted Types policy "deskbell": add it to trusted-types.';
  }
  return `${name} could not be started.`;
}

// The script address in the form that a content security policy with `require-trusted-types-for 'script'` needs. The
// policy's name is public: sites list it in `trusted-types`.

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): TrustedTypePolicy;
}
interface TrustedTypePolicy {
  createScriptURL(url: string): string;
}

let policy: TrustedTypePolicy | undefined;
let isPolicyRefused = false;

function trustedScriptUrl({ href }: URL): string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  try {
    policy ??= trustedTypes?.createPolicy('deskbell', { createScriptURL: (url) => url });
  } catch {
    isPolicyRefused = true;
  }
  return policy?.createScriptURL(href) ?? href;
}

/** Resolves an address relative to the page. Browsers refuse to fetch URLs with the user and password of `baseURI`. */
export function resolveAddress(address: string | URL): URL {
  const base = new URL(document.baseURI);
  base.username = '';
  base.password = '';
  return new URL(address, base);
}
