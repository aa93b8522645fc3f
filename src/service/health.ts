// GET /healthz: the process responds. GET /readyz: the store responds as well.
import { Type } from '../http/schema.ts';

import type { ServiceErrorCode } from '../errors/catalogue/service-errors.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Store } from '../store/store.ts';
import type { Settings } from './options.ts';
import type { ServiceApp } from '../http/service-app.ts';
import { contentResponse } from '../http/description/openapi-responses.ts';
import type { Operation } from '../http/description/operation.ts';
import { sendJson } from '../http/json-text.ts';

export function addHealthRoutes(
  app: ServiceApp,
  { store, readWarnings = () => readPause(store) }: Pick<Settings, 'store' | 'readWarnings'>,
): void {
  app.get(
    '/healthz',
    { config: { operation: operationOf('checkLiveness', 'The process answers', 'live') } },
    (_request, reply) => sendJson(reply, { status: 'live' }),
  );

  app.get(
    '/readyz',
    {
      config: {
        operation: operationOf(
          'checkReadiness',
          'The store can be read and written',
          'ready',
          'ERR_NOT_READY',
        ),
      },
    },
    async (_request, reply) => {
      try {
        await store.check();
        const warnings = await readWarnings();
        return sendJson(reply, { status: 'ready', ...(warnings.length > 0 && { warnings }) });
      } catch (cause) {
        throw new DeskbellError('ERR_NOT_READY', 'The store cannot be read or written.', { cause });
      }
    },
  );
}

async function readPause({ sending }: Pick<Store, 'sending'>): Promise<readonly string[]> {
  return (await sending.findPause()) === undefined ? [] : ['sending-paused'];
}

function operationOf(
  operationId: string,
  summary: string,
  status: string,
  ...errors: readonly ServiceErrorCode[]
): Operation {
  const body = Type.Model(
    status === 'live' ? 'Liveness' : 'Readiness',
    Type.Object({
      status: Type.Literal(status),
      ...(errors.length > 0 && { warnings: Type.Optional(Type.Array(Type.String())) }),
    }),
  );
  return {
    operationId,
    tag: 'Service',
    summary,
    responses: { 200: contentResponse('application/json', `${summary}.`, body, { status }) },
    errors,
  };
}
