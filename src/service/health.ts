// `/healthz` and `/readyz`: whether the process answers, and whether the store can be read and written.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { contentResponse, type Operation } from '../http/description/operation.ts';
import { sendJson } from '../http/json-body.ts';
import { Optional, type Schema, type ServiceApp, Type } from '../http/schema.ts';
import type { Store } from '../store/store.ts';
import type { Settings } from './options.ts';

const describe = (operationId: string, summary: string, body: Schema, status: string): Operation => ({
  operationId,
  tag: 'Service',
  summary,
  responses: { 200: contentResponse('application/json', `${summary}.`, body, { status }) },
});

const liveness = describe(
  'checkLiveness',
  'The process answers',
  Type.Named('Liveness', { status: Type.Literal('live') }),
  'live',
);
const readiness: Operation = {
  ...describe(
    'checkReadiness',
    'The store can be read and written',
    Type.Named('Readiness', { status: Type.Literal('ready'), warnings: Optional.Array(Type.String()) }),
    'ready',
  ),
  errors: ['ERR_NOT_READY'],
};

export function addHealthRoutes(
  app: ServiceApp,
  { store, readWarnings = () => readPause(store) }: Pick<Settings, 'store' | 'readWarnings'>,
): void {
  app.get('/healthz', { config: { operation: liveness } }, (_request, reply) =>
    sendJson(reply, { status: 'live' }),
  );

  app.get('/readyz', { config: { operation: readiness } }, async (_request, reply) => {
    try {
      await store.check();
      const warnings = await readWarnings();
      return sendJson(reply, { status: 'ready', ...(warnings.length > 0 && { warnings }) });
    } catch (cause) {
      throw new DeskbellError('ERR_NOT_READY', 'The store cannot be read or written.', { cause });
    }
  });
}

async function readPause({ sending }: Pick<Store, 'sending'>): Promise<readonly string[]> {
  return (await sending.findPause()) === undefined ? [] : ['sending-paused'];
}
