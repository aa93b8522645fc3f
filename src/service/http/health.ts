// GET /healthz: the process answers. GET /readyz: the store does, too.
import * as Type from 'typebox';

import type { ServiceErrorCode } from '../../errors/service-errors.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Store } from '../../store/store.ts';
import type { ServiceApp } from './service-app.ts';
import { contentResponse, problemResponses } from './openapi-responses.ts';
import { sendJson } from './json-text.ts';

export function addHealthRoutes(app: ServiceApp, store: Store): void {
  app.get('/healthz', { schema: responsesOf('The process answers', 'live') }, (_request, reply) =>
    sendJson(reply, { status: 'live' }),
  );

  app.get(
    '/readyz',
    { schema: responsesOf('The store can be read and written', 'ready', 'ERR_NOT_READY') },
    async (_request, reply) => {
      try {
        await store.check();
      } catch (cause) {
        throw new DeskbellError('ERR_NOT_READY', 'The store cannot be read or written.', { cause });
      }
      return sendJson(reply, { status: 'ready' });
    },
  );
}

function responsesOf(summary: string, status: string, ...codes: readonly ServiceErrorCode[]) {
  const body = Type.Object({ status: Type.Literal(status) });
  return {
    tags: ['Service'],
    summary,
    response: {
      200: contentResponse('application/json', `${summary}.`, body, { status }),
      ...problemResponses(...codes),
    },
  };
}
