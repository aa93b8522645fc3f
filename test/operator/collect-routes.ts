// The routes of a listener, as they are added: what a test asks of all of them, it asks of one that comes later too.
import type { FastifyInstance, RouteOptions } from 'fastify';

/** A route with values in place of its parameters. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly isOpen: boolean;
  /** As the route was added. */
  readonly options: RouteOptions;
}

/** To be called before the listener is ready, which is when its routes are added. */
export function collectRoutes(app: FastifyInstance): readonly Asked[] {
  const asked: Asked[] = [];
  app.addHook('onRoute', (options: RouteOptions) => {
    const { method, url, config } = options;
    const path = url.replaceAll(':origin', 'https%3A%2F%2Ffcm.googleapis.com').replaceAll(/:\w+|\*/g, '1');
    const isOpen = config?.isOpen === true;
    for (const name of [method].flat()) asked.push({ method: name, path, isOpen, options });
  });
  return asked;
}
