// GET /healthz: the process answers. GET /readyz: the store does, too.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Store } from '../../store/store.ts';
import type { ServiceApp } from '../create-service.ts';
import { sendJson } from '../json-text.ts';

export function addHealthRoutes(app: ServiceApp, store: Store): void {
  app.get('/healthz', (_request, reply) => sendJson(reply, { status: 'live' }));

  app.get('/readyz', async (_request, reply) => {
    try {
      await store.check();
    } catch (cause) {
      throw new DeskbellError('ERR_NOT_READY', 'The store cannot be read or written.', { cause });
    }
    return sendJson(reply, { status: 'ready' });
  });
}
