// The routes of bells: any path of ntfy and Gotify below the one at which they are mounted. Nothing that is logged has the path, which
// has the secret.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../http/log.ts';
import { hashBellSecret } from '../store/bells.ts';
import { type Answer, answerError, answers, BellError, ntfyEvent } from './answers.ts';
import { maxBytes, readBody, readPosted, type RequestHead, secretsIn, textOf, topicsIn } from './posted.ts';
import { type BellParts, createBells } from './ring.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Annotation of a route that answers at any host: what it does needs a secret. */
    anyHost?: boolean | undefined;
  }
}

const paths = ['/', '/:one', '/:one/:two', '/:one/:two/:three'];
/** A link that is only looked at has none of these. */
const publishing = /^(?:publish|send|trigger)$/;
const messages = ['message', 'm', 'msg'];

const unauthorized = (): BellError =>
  new BellError(401, 40101, 'unauthorized: there is no bell with this secret; see "deskbell bells list"');

/** @param mounts paths at which bells are, without a slash at their end */
export function addBells(
  app: FastifyInstance,
  mounts: readonly string[],
  parts: BellParts & { readonly log: Log },
): void {
  const { store, log } = parts;
  const bells = createBells(parts);

  const find = async (secrets: readonly string[]) => {
    for (const secret of secrets) {
      const bell = await store.bells.findBySecret(hashBellSecret(secret));
      if (bell !== undefined) return { bell, secret };
    }
    return undefined;
  };

  /** @throws {BellError} */
  const answerTo = async (head: RequestHead, request: FastifyRequest): Promise<Answer> => {
    const { method, path, query } = head;
    const isSafe = method === 'GET' || method === 'HEAD';
    const known = await find(secretsIn(head));
    // only JSON of ntfy has the secret in its body
    if (known === undefined && (isSafe || path.length > 0)) throw unauthorized();
    const body = await readBody(request.raw, async (start) => known ?? find(topicsIn(start)));
    if (body === undefined) {
      const most = known === undefined ? maxBytes.unknown : maxBytes.known;
      throw new BellError(413, 41303, `the body is larger than the ${most} bytes that are read`);
    }
    if (body.found === undefined) throw unauthorized();
    const { bell, secret } = body.found;
    const [first, second = '', third = ''] = path;
    const rings = isSafe
      ? method === 'GET' && (publishing.test(second) || messages.some((name) => textOf(query.get(name))))
      : method !== 'DELETE' && third === '';
    if (rings) {
      const posted = await readPosted(head, secret, body.bytes);
      const { answer, ...made } = await bells.ring(bell, posted);
      return answers[answer](made, posted);
    }
    if (isSafe) {
      const words = `This is the bell ${bell.name}. What is posted to this address rings it.\n`;
      return { status: 200, type: 'text/plain', body: words };
    }
    if (second === '' || !/^(?:clear|read)?$/.test(third) || (third === '') !== (method === 'DELETE'))
      throw new BellError(404, 40401, 'not found: post to the address of the bell');
    await bells.cancel(bell, second);
    await store.bells.note(bell.id, { tool: 'ntfy', outcome: 'cancelled' });
    const event = third === '' ? 'message_delete' : 'message_clear';
    return ntfyEvent(event, store.now(), first, { sequence_id: second });
  };

  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { method, url, headers, params } = request;
    const path = Object.values(params as Readonly<Record<string, string>>);
    const head = { method, path, headers, query: new URLSearchParams(/\?(.*)$/.exec(url)?.[1]) };
    const { status, type, body } = await answerTo(head, request).catch((error: unknown) => {
      if (error instanceof BellError) return answerError(head, error);
      log.error({ event: 'fault', method, url: request.routeOptions.url, error });
      return answerError(head, new BellError(503, 50301, 'the message was not stored: try again later'));
    });
    // a body that was not read to its end
    if (!request.raw.complete) reply.header('connection', 'close');
    return reply.code(status).header('content-type', `${type}; charset=utf-8`).send(body);
  };

  // the body is read above, as far as the secret permits
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  const config = { isOpen: true, audit: 'none', anyHost: true } as const;
  for (const url of mounts.flatMap((mount) => [mount, ...paths.map((path) => mount + path)]))
    if (url !== '') app.route({ method: ['GET', 'POST', 'PUT', 'DELETE'], url, config, handler: answer });
}
