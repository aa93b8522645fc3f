// The registration of the service worker: found where it is, made where it is not.
import { ClientError } from './client-error.ts';

export class WorkerRegistration {
  readonly #scriptUrl: URL;
  readonly #scope: string;

  constructor(scriptUrl: URL) {
    this.#scriptUrl = scriptUrl;
    this.#scope = new URL('./', scriptUrl).href;
  }

  async find(): Promise<ServiceWorkerRegistration | undefined> {
    const registration = await navigator.serviceWorker.getRegistration(this.#scope);
    // A wider one belongs to somebody else.
    return registration?.scope === this.#scope ? registration : undefined;
  }

  /** Resolves once the service worker is active: Chromium subscribes only then. */
  async findOrRegister(): Promise<ServiceWorkerRegistration> {
    try {
      const registration = await navigator.serviceWorker.register(this.#scriptUrl, { scope: this.#scope });
      if (!registration.active) await activation(registration.installing ?? registration.waiting!);
      return registration;
    } catch (cause) {
      throw new ClientError(
        'service-worker-failed',
        `The service worker ${this.#scriptUrl.pathname} could not be started.`,
        cause,
      );
    }
  }
}

function activation(serviceWorker: ServiceWorker): Promise<void> {
  return new Promise((resolve, reject) => {
    serviceWorker.addEventListener('statechange', () => {
      if (serviceWorker.state === 'activated') resolve();
      if (serviceWorker.state === 'redundant') reject(new Error('It failed while it was installed.'));
    });
  });
}
