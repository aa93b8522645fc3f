// A server that answers UnifiedPush as ntfy does, over TLS with HTTP/2 or HTTP/1.1: the statuses, bodies and header fields are those of
// server/server.go and server/errors.go of binwiederhier/ntfy. What becomes of a message depends on its topic.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createSecureServer, type Http2ServerRequest } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { makeCertificate } from '../../src/push-service/http/certificate.ts';
import { listenOnNewPort } from '../../tools/listening.ts';

/** What both protocols' responses have. */
interface Response {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
}

export interface NtfyServer {
  readonly ca: readonly string[];
  readonly port: number;
  /** Topics that were posted to, in order. */
  readonly posted: string[];
  /** Their bodies arrived whole and encrypted. */
  readonly contentEncodings: Set<string | undefined>;
  readonly connections: number;
  close(): Promise<void>;
}

/** What a topic is answered: `limited` as where its user's messages of the day are used up, `dead` without a subscriber. */
export const topicOf = (state: 'live' | 'limited' | 'dead' | 'full', number: number): string =>
  `up${state}${String(number).padStart(12 - state.length, '0')}`;

const limits = 'https://ntfy.sh/docs/publish/#limitations';
const errors = {
  limited: { code: 42908, http: 429, error: 'limit reached: daily message quota reached', link: limits },
  dead: {
    code: 50701,
    http: 507,
    error: 'cannot publish to UnifiedPush topic without previously active subscriber',
  },
  // what another server might mean by 507
  full: { code: 1, http: 507, error: 'disk full' },
} as const;

/**
 * @param host of its certificate
 * @param options `inHand`: so many messages have come before any is answered. `others`: further hosts of its certificate
 */
export async function startNtfyServer(
  host: string,
  { http2 = true, inHand = 1, others = [] as readonly string[] } = {},
): Promise<NtfyServer> {
  const { key, cert } = makeCertificate([host, ...others]);
  const posted: string[] = [];
  const contentEncodings = new Set<string | undefined>();
  let connections = 0;
  const { promise: gate, resolve: openGate } = Promise.withResolvers<void>();

  const answer = async (request: IncomingMessage | Http2ServerRequest, response: Response): Promise<void> => {
    let bytes = 0;
    for await (const chunk of request) bytes += (chunk as Buffer).length;
    const { pathname, searchParams } = new URL(request.url!, `https://${host}`);
    const topic = pathname.slice(1);
    posted.push(topic);
    if (posted.length >= inHand) openGate();
    await gate;
    contentEncodings.add(request.headers['content-encoding']);
    const [, state] = /^up(limited|dead|full)/.exec(topic) ?? [];
    const error = errors[state as keyof typeof errors];
    const time = Math.floor(Date.now() / 1000);
    const message = { id: 'sPs71M8A2Tqv', time, expires: time + 43_200, event: 'message', topic };
    const body = error ?? { ...message, message: `${bytes} bytes`, encoding: 'base64' };
    response.writeHead(searchParams.get('up') === '1' ? (error?.http ?? 200) : 400, {
      'access-control-allow-origin': '*',
      'content-type': 'application/json',
    });
    response.end(`${JSON.stringify(body)}\n`);
  };

  const onRequest = (request: IncomingMessage | Http2ServerRequest, response: Response) =>
    void answer(request, response);
  const server = http2
    ? createSecureServer({ key, cert }, onRequest)
    : createHttpsServer({ key, cert }, onRequest);
  server.on('secureConnection', () => (connections += 1));
  const port = await listenOnNewPort(server);
  return {
    ca: [cert],
    port,
    posted,
    contentEncodings,
    get connections() {
      return connections;
    },
    close: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}
