// Serves a file of the client, which is read at the first request and kept in memory, and revalidated by its etag.
import { type ServiceApp, Type } from '../schema.ts';

import { clientFile, type ClientFile, readOnce, sendRepresentation } from '../client-files.ts';
import { addSpelling } from '../unknown-paths.ts';
import { contentResponse, type Operation } from './operation.ts';

export interface ServedFile extends ClientFile, Pick<Operation, 'operationId' | 'tag' | 'summary'> {
  readonly contentSecurityPolicy: string;
  /** The page's path with the final slash added or removed. It redirects, because the page has relative addresses. */
  readonly otherSpelling?: { readonly path: string; readonly location: string } | undefined;
}

export function serveFile(app: ServiceApp, path: string, file: ServedFile): void {
  const readRepresentation = readOnce(file);
  const { operationId, tag, summary } = file;
  const contentType = file.contentType.split(';')[0]!;
  const isJson = contentType.endsWith('+json');
  const operation: Operation = {
    operationId,
    tag,
    summary,
    responses: {
      200: contentResponse(
        contentType,
        summary,
        isJson ? Type.AnyObject() : Type.String(),
        isJson ? {} : '…',
      ),
      304: { description: 'Unchanged.' },
    },
  };
  const { otherSpelling } = file;
  const isOther = (url: string): boolean =>
    otherSpelling !== undefined && url.split('?', 1)[0]!.endsWith('/') === otherSpelling.path.endsWith('/');
  app.get(path, { config: { operation }, prefixTrailingSlash: 'slash' }, async (request, reply) => {
    if (isOther(request.url)) return reply.redirect(otherSpelling!.location, 308);
    reply
      .header('content-security-policy', file.contentSecurityPolicy)
      .header('x-content-type-options', 'nosniff');
    return sendRepresentation(request, reply, await readRepresentation());
  });
  if (otherSpelling === undefined) return;
  const { path: otherPath, location } = otherSpelling;
  addSpelling(() => app.get(otherPath, (_request, reply) => reply.redirect(location, 308)));
}

/** @param files each file's URL path, its path in the client's folder, and its operation id in the OpenAPI document */
export function serveFiles(
  app: ServiceApp,
  files: readonly (readonly [path: string, file: string, operationId: string])[],
  common: Pick<ServedFile, 'tag' | 'summary' | 'contentSecurityPolicy'>,
): void {
  for (const [path, file, operationId] of files)
    serveFile(app, path, { ...common, ...clientFile(file), operationId });
}
