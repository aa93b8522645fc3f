// Chromium's push transport on loopback: check-in, registration and delivery for the browser, and the push service
// for senders at the endpoints that Chromium makes up (https://jmt17.google.com/fcm/send/<token>). It checks neither
// VAPID nor TTL: the local push service is the strict one.
import { createHash, randomUUID, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { makeCertificate } from '../../../src/push-service/http/certificate.ts';
import { createMessageServer } from './mcs.ts';
import { bytesField, fixed64Field, varintField } from './protobuf.ts';

export interface FakeGcm extends AsyncDisposable {
  /** For Chromium's command line. */
  readonly chromiumArguments: readonly string[];
  /** For the sender: where the endpoints' host really is, and whom to trust there. */
  readonly port: number;
  readonly certificate: string;
  /** While true, the browser can register nothing. */
  isDown: boolean;
  /** Whether the browser is registered for any service worker of this origin. */
  isRegistered(origin: string): boolean;
}

interface Registration {
  readonly sender: string;
  readonly app: string;
  readonly subtype: string;
}

export async function startFakeGcm(): Promise<FakeGcm> {
  const { key, cert } = makeCertificate(['jmt17.google.com', 'localhost']);
  /** By token, the last part of the endpoint. */
  const registrations = new Map<string, Registration>();
  const messages = createMessageServer({ key, cert });

  const browserSide = createServer(async (request, response) => {
    if (fake.isDown) response.writeHead(503).end();
    else if (request.url === '/checkin') response.end(checkinResponse());
    else response.end(register(new URLSearchParams(await text(request))));
  });

  function register(form: URLSearchParams): string {
    const registration = {
      sender: form.get('sender') ?? '',
      app: form.get('app') ?? '',
      subtype: form.get('X-subtype') ?? '',
    };
    if (form.get('delete') === 'true') {
      for (const [token, { subtype }] of registrations) {
        if (subtype === registration.subtype) registrations.delete(token);
      }
      return `token=${registration.app}`;
    }
    const token = randomUUID();
    registrations.set(token, registration);
    return `token=${token}`;
  }

  const senderSide = createSecureServer({ key, cert, allowHTTP1: true }, async (request, response) => {
    const body = await buffer(request as unknown as IncomingMessage);
    const token = request.url.split('/').at(-1)!;
    const registration = registrations.get(token);
    if (!registration) {
      response.writeHead(410).end('push subscription has unsubscribed or expired.');
      return;
    }
    messages.deliver({ ...registration, ttlSeconds: Number(request.headers['ttl']), body });
    response.writeHead(201, { location: `https://jmt17.google.com/m/${randomUUID()}` }).end();
  });

  const [browserPort, messagePort, port] = await Promise.all([
    listen(browserSide),
    listen(messages.server),
    listen(senderSide),
  ]);
  const fake: FakeGcm = {
    chromiumArguments: [
      `--gcm-checkin-url=http://localhost:${browserPort}/checkin`,
      `--gcm-registration-url=http://localhost:${browserPort}/register3`,
      `--gcm-mcs-endpoint=https://localhost:${messagePort}`,
      `--ignore-certificate-errors-spki-list=${spkiHash(cert)}`,
    ],
    port,
    certificate: cert,
    isDown: false,
    // such as wp:https://shop.example/#2C3D-…
    isRegistered: (origin) =>
      [...registrations.values()].some(({ subtype }) => subtype.startsWith(`wp:${origin}/#`)),
    async [Symbol.asyncDispose]() {
      messages.disconnect();
      browserSide.closeAllConnections();
      for (const server of [browserSide, messages.server, senderSide]) server.close();
    },
  };
  return fake;
}

/** AndroidCheckinResponse: stats_ok, time_msec, 6 market_ok, android_id, security_token, version_info. */
function checkinResponse(): Buffer {
  return Buffer.concat([
    varintField(1, 1),
    varintField(3, Date.now()),
    varintField(6, 1),
    fixed64Field(7, 1n),
    fixed64Field(8, 2n),
    bytesField(11, 'v1'),
  ]);
}

function spkiHash(certificate: string): string {
  const spki = new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(spki).digest('base64');
}

async function listen(server: Server | Http2SecureServer): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
