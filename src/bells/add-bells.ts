// The routes of bells. Below their mount path, they accept all paths of ntfy and Gotify. The log never contains the
// path, because the path contains the secret.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { decodePercent } from '../errors/untrusted-text.ts';
import type { Log } from '../http/log.ts';
import { hashBellSecret } from '../store/bells.ts';
import { type Answer, answerError, answers, ntfyEvent } from './answers.ts';
import { BellError, readBody, readPosted, type RequestHead, secretsIn, textOf, topicsIn } from './posted.ts';
import { type BellParts, createBells } from './ring.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Annotation of a route that accepts requests for any host, because it requires a secret. */
    anyHost?: boolean | undefined;
  }
}

/** A GET request publishes if its path has one of these segments. Link previews never request such paths. */
const publishing = /^(?:publish|send|trigger)$/;
const messages = ['message', 'm', 'msg', 'payload'];

const unauthorized = (): BellError =>
  new BellError(401, 40101, 'unauthorized: there is no bell with this secret; see "deskbell bells list"');

const minuteMs = 60_000;

/** Logs refused requests at most once a minute, which is enough to show that an address is mistyped. */
function createRefusalLog({ store, log }: Pick<BellParts, 'store'> & { readonly log: Log }) {
  let requests = 0;
  let loggedAtMs = -Infinity;
  return ({ path: [first = ''] }: RequestHead): void => {
    requests += 1;
    if (store.now() - loggedAtMs < minuteMs) return;
    const secret = first === '' ? 'none in the path' : `${first.slice(0, 3)}…`;
    log.info({ event: 'unknown bell', secret, requests });
    requests = 0;
    loggedAtMs = store.now();
  };
}

/** @param mounts the path prefixes under which bells are reached, without a trailing slash */
export function addBells(
  app: FastifyInstance,
  mounts: readonly string[],
  parts: BellParts & { readonly log: Log },
): void {
  const { store, log } = parts;
  const bells = createBells(parts);
  const logRefusal = createRefusalLog(parts);

  const refuse = (head: RequestHead): never => {
    logRefusal(head);
    throw unauthorized();
  };

  const find = async (secrets: readonly string[]) => {
    for (const secret of secrets) {
      const bell = await store.bells.findBySecret(hashBellSecret(secret));
      if (bell !== undefined) return { bell, secret };
    }
    return undefined;
  };

  /** @throws {BellError} */
  const answer = async (head: RequestHead, { raw }: FastifyRequest): Promise<Answer> => {
    const { method, path, query } = head;
    const isSafe = method === 'GET' || method === 'HEAD';
    const known = await find(secretsIn(head));
    // the secret is in the body only if the body is ntfy's JSON
    if (known === undefined && (isSafe || path.length > 0)) return refuse(head);
    const { bytes, found } = await readBody(raw, async (start) => known ?? find(topicsIn(start)));
    if (found === undefined) return refuse(head);
    const { bell, secret } = found;
    const [first, second, third = ''] = path;
    const rings = isSafe
      ? method === 'GET' &&
        (publishing.test(second ?? '') || messages.some((name) => textOf(query.get(name))))
      : method !== 'DELETE' && path.length < 3;
    if (rings) {
      const posted = await readPosted(head, secret, bytes);
      const { answer: form, ...made } = await bells.ring(bell, posted);
      return answers[form](made, posted);
    }
    if (isSafe) {
      const words = `This is the bell ${bell.name}. What is posted to this address rings it.\n`;
      return { status: 200, type: 'text/plain', body: words };
    }
    const isEvent = method === 'DELETE' ? path.length === 2 : /^(?:clear|read)$/.test(third);
    if (second === undefined || path.length > 3 || !isEvent)
      throw new BellError(404, 40401, 'not found: post to the address of the bell');
    await bells.cancel(bell, second);
    await store.bells.note(bell.id, { tool: 'ntfy', outcome: 'cancelled' });
    const event = method === 'DELETE' ? 'message_delete' : 'message_clear';
    return ntfyEvent(event, store.now(), first, { sequence_id: second });
  };

  // the handler reads the body itself, because the limit depends on the secret
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  const config = { isOpen: true, audit: 'none', anyHost: true } as const;
  for (const mount of mounts)
    for (const url of mount === '' ? ['/*'] : [mount, `${mount}/*`])
      app.route({
        method: ['GET', 'POST', 'PUT', 'DELETE'],
        url,
        config,
        handler: async (request, reply) => {
          const { method, headers } = request;
          const [, address = '', query] = /^([^?]*)\??(.*)$/.exec(request.url)!;
          // some clients put a second slash after the server's address
          const segments = address.slice(mount.length).split('/').filter(Boolean);
          const path = segments.map((segment) => decodePercent(segment) ?? segment);
          const head = { method, path, headers, query: new URLSearchParams(query) };
          const { status, type, body } = await answer(head, request).catch((error: unknown) => {
            if (error instanceof BellError) return answerError(head, error);
            log.error({ event: 'fault', method, url, error });
            return answerError(
              head,
              new BellError(503, 50301, 'the message was not stored: try again later'),
            );
          });
          // close the connection, because the body was not read completely
          if (!request.raw.complete) reply.header('connection', 'close');
          return reply.code(status).header('content-type', `${type}; charset=utf-8`).send(body);
        },
      });
}
