// Whatever can fail on this side: each code that name resolution, connecting, TLS and sockets can give, and what has no
// code or is no error, thrown at once and later. A request that was not written waits, one that was is in doubt, and
// the process lives on.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import dns from 'node:dns';
import { createServer as createHttpsServer } from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import net, { type Socket } from 'node:net';
import { constants } from 'node:os';
import { describe, test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import tls from 'node:tls';
import { getSystemErrorMap, inspect } from 'node:util';

import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { createTransport } from '../../src/transport/create-transport.ts';
import type { TransportOptions, TransportResult } from '../../src/transport/transport.ts';
import { certificate, startHttp, startHttp2, startServer } from './peers.ts';
import { openTransport, sendOne } from './sending.ts';

/** OpenSSL's verification codes as Node names them (docs of `tls`, "X509 certificate error codes"), and Node's own. */
const tlsCodes =
  `UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_CRL UNABLE_TO_DECRYPT_CERT_SIGNATURE UNABLE_TO_DECRYPT_CRL_SIGNATURE
  UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY CERT_SIGNATURE_FAILURE CRL_SIGNATURE_FAILURE CERT_NOT_YET_VALID CERT_HAS_EXPIRED
  CRL_NOT_YET_VALID CRL_HAS_EXPIRED ERROR_IN_CERT_NOT_BEFORE_FIELD ERROR_IN_CERT_NOT_AFTER_FIELD
  ERROR_IN_CRL_LAST_UPDATE_FIELD ERROR_IN_CRL_NEXT_UPDATE_FIELD OUT_OF_MEM DEPTH_ZERO_SELF_SIGNED_CERT
  SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE CERT_CHAIN_TOO_LONG
  CERT_REVOKED INVALID_CA PATH_LENGTH_EXCEEDED INVALID_PURPOSE CERT_UNTRUSTED CERT_REJECTED HOSTNAME_MISMATCH
  ERR_TLS_CERT_ALTNAME_INVALID ERR_TLS_HANDSHAKE_TIMEOUT ERR_SSL_WRONG_VERSION_NUMBER
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION ERR_SSL_UNSUPPORTED_PROTOCOL
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED ERR_SOCKET_CLOSED ERR_SOCKET_CONNECTION_TIMEOUT ERR_STREAM_PREMATURE_CLOSE
  ERR_STREAM_DESTROYED ERR_INVALID_IP_ADDRESS`.split(/\s+/);

const dnsCodes = Object.values(dns).filter((value) => typeof value === 'string');
const systemCodes = [...getSystemErrorMap().values()].map(([code]) => code);
const errnos = Object.keys(constants.errno);
const codes = new Set<string>([...systemCodes, ...errnos, ...dnsCodes.filter(isCode), ...tlsCodes]);

function isCode(text: string): boolean {
  return /^E[A-Z]+$/.test(text);
}

const withCode = (code: string): Error => Object.assign(new Error(`it says ${code}`), { code });

/** What is thrown. */
const thrown: readonly unknown[] = [
  ...Array.from(codes, withCode),
  new Error('without a code'),
  new TypeError("Cannot read properties of null (reading 'setServername')"),
  Object.assign(new AggregateError([withCode('ECONNREFUSED')]), { code: 'ECONNREFUSED' }),
  new AggregateError([]),
  new DOMException('This operation was aborted', 'AbortError'),
  'text',
  '',
  0,
  null,
  undefined,
  Symbol('none'),
  Object.create(null),
  { code: 'ENOENT' },
];

/** Of a socket, only errors. */
const errors = thrown.filter((value): value is Error => value instanceof Error);

const resolve = async () => [{ address: '93.184.216.34', family: 4 } as const];

/** Replaces functions of Node's for one test, as named imports see them too. */
function replace<Module extends object>(t: TestContext, module: Module, changes: Partial<Module>): void {
  const former = Object.fromEntries(Object.keys(changes).map((name) => [name, module[name as keyof Module]]));
  Object.assign(module, changes);
  syncBuiltinESMExports();
  t.after(() => {
    Object.assign(module, former);
    syncBuiltinESMExports();
  });
}

/** A socket that cannot be opened. @param isLater not in the same turn */
function failingSocket(error: Error, isLater: boolean): Socket {
  const socket = new net.Socket();
  if (isLater) setImmediate(() => socket.destroy(error));
  else socket.destroy(error);
  return socket;
}

const noSocket = (): Socket => assert.fail();
const ignore = (): void => {};

function assertWaits(result: TransportResult, value: unknown): void {
  assert.ok(result.kind === 'failure', inspect(value));
  assert.ok(result.error instanceof DeskbellError);
  const { outcome } = result;
  assert.ok(outcome.kind === 'retry' && outcome.isUnsent && !outcome.isInDoubt, result.error.message);
  if (value instanceof Error && 'code' in value && typeof value.code === 'string')
    assert.ok(outcome.detail!.includes(value.code));
}

async function sendThrough(origin: string, options: TransportOptions): Promise<TransportResult> {
  const transport = createTransport({ pushServices: [origin], ...options });
  const result = await sendOne(transport, origin);
  await transport.close(0);
  return result;
}

/** One for all errors, since reading all authorities takes long. */
const openFor = (origin: string) => openTransport({ pushServices: [origin] }, { hasBreaker: false });

const h2 = 'https://push.example.org';
const http1 = 'http://push.example.org';
const proxy = 'http://proxy.example.org:3128';
const ways: readonly (readonly [title: string, origin: string, options: TransportOptions])[] = [
  ['over https', h2, { resolve }],
  ['over http', http1, { resolve }],
  ['through a proxy', h2, { resolve, proxy }],
  ['through an https proxy', h2, { resolve, proxy: proxy.replace('http:', 'https:') }],
];

test('the lists of codes are those of this system', () => {
  assert.ok(codes.size > 150);
  for (const code of ['ENETUNREACH', 'EAI_AGAIN', 'ENOTFOUND', 'ETIMEOUT', 'ESERVFAIL', 'CERT_HAS_EXPIRED'])
    assert.ok(codes.has(code));
});

describe('a message waits, whatever fails', () => {
  for (const [title, origin, options] of ways) {
    test(`in looking up a name, ${title}`, async () => {
      for (const value of thrown) {
        const atOnce = (): never => {
          throw value;
        };
        const later = (): Promise<never> => nextTurn().then(atOnce);
        for (const failing of [atOnce, later])
          assertWaits(await sendThrough(origin, { ...options, resolve: failing }), value);
      }
    });

    test(`in connecting, ${title}`, async (t) => {
      let fail = noSocket;
      const connect = (() => fail()) as unknown as typeof net.connect & typeof tls.connect;
      replace(t, net, { connect });
      replace(t, tls, { connect });
      for (const value of thrown) {
        fail = () => {
          throw value;
        };
        assertWaits(await sendThrough(origin, options), value);
      }
      for (const error of errors) {
        for (const isLater of [false, true]) {
          fail = () => failingSocket(error, isLater);
          assertWaits(await sendThrough(origin, options), error);
        }
      }
    });
  }

  test('in TLS, once TCP is connected', async (t) => {
    await using server = await startServer(createHttpsServer(certificate), 'https');
    const { connect } = tls;
    let break_: (socket: Socket) => void = ignore;
    const failing = ((...parameters: Parameters<typeof connect>) => {
      const socket = connect(...parameters);
      break_(socket);
      return socket;
    }) as typeof connect;
    replace(t, tls, { connect: failing });
    await using transport = openFor(server.origin);
    for (const error of errors) {
      break_ = (socket) => socket.once('connect', () => socket.destroy(error));
      assertWaits(await sendOne(transport, server.origin), error);
    }
  });

  test('in what the configuration gives: trust, and places to connect to', async () => {
    for (const value of thrown) {
      const connectOverride = (): never => {
        throw value;
      };
      assertWaits(await sendThrough(h2, { connectOverride }), value);
    }
    assertWaits(await sendThrough(h2, { resolve: async () => undefined as unknown as [] }), undefined);
    assertWaits(await sendThrough(h2, { resolve: async () => [{ address: 'nonsense', family: 4 }] }), 0);
  });
});

for (const protocol of ['HTTP/2', 'HTTP/1.1'] as const) {
  test(`a message that was written is in doubt, whatever its socket says, over ${protocol}`, async (t) => {
    let received: () => void = ignore;
    const silent = (): void => received();
    await using server = await (protocol === 'HTTP/2' ? startHttp2 : startHttp)(silent);
    const sockets: Socket[] = [];
    const onSocket = (message: unknown): unknown => sockets.push((message as { socket: Socket }).socket);
    subscribe('net.client.socket', onSocket);
    t.after(() => unsubscribe('net.client.socket', onSocket));
    await using transport = openFor(server.origin);
    for (const error of errors) {
      received = () => sockets.at(-1)!.destroy(error);
      const result = await sendOne(transport, server.origin);
      assert.ok(result.kind === 'failure' && result.outcome.kind === 'retry', error.message);
      assert.ok(result.outcome.isInDoubt && !result.outcome.isUnsent, error.message);
    }
  });
}
