// A file of the client: read at the first request, kept in memory, revalidated by its etag.
import { Type } from '../schema.ts';

import { represent, sendRepresentation, type Representation } from '../conditional.ts';
import type { ServiceApp } from '../service-app.ts';
import { contentResponse, emptyResponse } from './openapi-responses.ts';
import type { Operation } from './operation.ts';

export interface ServedFile {
  readonly tag: Operation['tag'];
  readonly summary: string;
  readonly contentType: string;
  readonly contentSecurityPolicy: string;
  read(): Promise<string | Buffer>;
}

export function serveFile(app: ServiceApp, path: string, file: ServedFile): void {
  let representation: Promise<Representation> | undefined;
  const operation: Operation = {
    tag: file.tag,
    summary: file.summary,
    responses: {
      200: contentResponse(file.contentType.split(';')[0] as string, file.summary, Type.String(), '…'),
      304: emptyResponse('Unchanged.'),
    },
  };
  const read = async (): Promise<Representation> => {
    try {
      return represent(await file.read(), file.contentType);
    } catch (error) {
      representation = undefined;
      throw error;
    }
  };
  app.get(path, { config: { operation }, prefixTrailingSlash: 'slash' }, async (request, reply) => {
    representation ??= read();
    reply
      .header('content-security-policy', file.contentSecurityPolicy)
      .header('x-content-type-options', 'nosniff');
    return sendRepresentation(request, reply, await representation);
  });
}
