// The client's files, and responses that clients may cache but must revalidate: `etag`, `no-cache`, 304 (RFC 9110 §13).
import { createHash } from 'node:crypto';
import { extname } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { lookUp } from '../errors/check-options.ts';

export interface ClientFile {
  readonly contentType: string;
  read(): Promise<string | Buffer>;
}

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};

export function clientFile(file: string): ClientFile {
  const ending = extname(file);
  const read = ending === '.css' ? readStyle : ending === '.png' ? readBytes : readClientFile;
  return { contentType: lookUp(contentTypes, ending)!, read: () => read(file) };
}

async function readStyle(file: string): Promise<string> {
  return (await readClientFile('base.css')) + (await readClientFile(file));
}

export const readClientFile = async (file: string): Promise<string> => (await readBytes(file)).toString();

async function readBytes(file: string): Promise<Buffer> {
  const { clientFileBytes } = await import('./client-folder.ts');
  return clientFileBytes(file);
}

export type Representation = ReturnType<typeof represent>;

export function represent(body: string | Buffer, contentType: string) {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  return { body, contentType, etag };
}

export function readOnce({ read, contentType }: ClientFile): () => Promise<Representation> {
  let representation: Promise<Representation> | undefined;
  const readNow = async (): Promise<Representation> => {
    try {
      return represent(await read(), contentType);
    } catch (error) {
      representation = undefined;
      throw error;
    }
  };
  return () => (representation ??= readNow());
}

export function sendRepresentation(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, contentType, etag }: Representation,
): FastifyReply {
  const headers = { etag, 'cache-control': 'no-cache' };
  sent.set(reply, headers);
  reply.headers(headers);
  if (isMatch(request.headers['if-none-match'], etag)) return reply.code(304).send();
  return reply.type(contentType).send(body);
}

const sent = new WeakMap<FastifyReply, Readonly<Record<string, string>>>();

/** The header fields of a reply made by `sendRepresentation`; undefined for any other reply. */
export const representationHeaders = (reply: FastifyReply): Readonly<Record<string, string>> | undefined =>
  sent.get(reply);

/** Weak comparison (RFC 9110 §13.1.2). */
function isMatch(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
