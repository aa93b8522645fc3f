// The registration of the service worker: found where it is, made where it is not; and why, where it cannot be made.
import { ClientError, reported } from './client-error.ts';

export class WorkerRegistration {
  readonly scope: string;
  readonly #scriptUrl: URL;

  /** @param serviceUrl the folder of the Deskbell service; it ends with a slash */
  constructor(scriptUrl: URL, serviceUrl: URL) {
    this.#scriptUrl = scriptUrl;
    this.scope = hasOwnOrigin(scriptUrl) ? new URL('./', scriptUrl).href : '';
    if (this.scope === '') return;
    const { searchParams } = scriptUrl;
    if (serviceUrl.href !== this.scope) searchParams.set('service', serviceUrl.href);
    const pageFolder = commonFolder(this.scope);
    if (pageFolder !== this.scope) searchParams.set('page', pageFolder);
  }

  async find(): Promise<ServiceWorkerRegistration | undefined> {
    if (this.scope === '') return undefined;
    const registration = await navigator.serviceWorker.getRegistration(this.scope);
    // A wider one belongs to somebody else.
    return registration?.scope === this.scope ? registration : undefined;
  }

  /**
   * Changes nothing where this very script is registered; takes the place of a former script. Resolves once there is an
   * active service worker: Chromium subscribes only then.
   *
   * @throws {ClientError} service-worker-failed
   */
  async register(): Promise<ServiceWorkerRegistration> {
    try {
      const { scope } = this;
      const registration = await navigator.serviceWorker.register(this.#scriptUrl, { scope });
      if (!registration.active) await activation(registration.installing ?? registration.waiting!);
      return registration;
    } catch (cause) {
      const description = await describeFailure(this.#scriptUrl);
      throw reported(new ClientError('service-worker-failed', description, cause));
    }
  }
}

function hasOwnOrigin(url: URL): boolean {
  return url.origin === location.origin;
}

/** The folder that both the page and the service worker's scope are in: what a click on a notification opens. */
function commonFolder(scope: string): string {
  let folder = scope;
  while (!location.href.startsWith(folder)) folder = new URL('../', folder).href;
  return folder;
}

function activation(serviceWorker: ServiceWorker): Promise<void> {
  return new Promise((resolve, reject) => {
    serviceWorker.addEventListener('statechange', () => {
      if (serviceWorker.state === 'activated') resolve();
      if (serviceWorker.state === 'redundant') reject(new Error('It failed while it was installed.'));
    });
  });
}

/** Browsers do not say what is wrong with a script that they refuse, so it is fetched once more and looked at. */
async function describeFailure(url: URL): Promise<string> {
  const remedy = 'Serve a copy of deskbell/service-worker.js there, or set serviceWorkerUrl.';
  if (url.protocol === 'data:') {
    return "serviceWorkerUrl is a data: URL, which no browser registers. In Vite, import 'deskbell/service-worker.js?url&no-inline'.";
  }
  if (!hasOwnOrigin(url)) return `serviceWorkerUrl is on ${url.origin}; it must be on the page's own origin.`;
  const response = await fetch(url, { cache: 'no-store' }).catch(() => undefined);
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
  return `${name} could not be started.`;
}
