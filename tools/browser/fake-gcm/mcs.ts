// Mobile Connection Server, the TLS stream on which Chromium receives its push messages: store and forward to one
// browser that logs in, drops and logs in again.
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type Server, type TlsOptions } from 'node:tls';
import {
  bytesField,
  decodeFields,
  decodeVarint,
  encodeVarint,
  type Fields,
  textsOf,
  varintField,
} from './protobuf.ts';

const version = 41;
const tag = { heartbeatPing: 0, heartbeatAck: 1, loginRequest: 2, loginResponse: 3, iq: 7, data: 8 } as const;

export interface GcmMessage {
  /** The VAPID key that the subscription was made with, base64url. */
  readonly sender: string;
  readonly app: string;
  readonly subtype: string;
  readonly ttlSeconds: number;
  /** aes128gcm body. */
  readonly body: Uint8Array;
}

export interface MessageServer {
  readonly server: Server;
  /** Keeps the message until the browser has acknowledged it, over any number of logins. */
  deliver(message: GcmMessage): void;
  disconnect(): void;
}

export function createMessageServer(tlsOptions: TlsOptions): MessageServer {
  /** By persistent id, in the order of arrival. */
  const unacknowledged = new Map<string, Buffer>();
  const sockets = new Set<Socket>();
  let loggedIn: Socket | undefined;

  const server = createServer(tlsOptions, (socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      if (loggedIn === socket) loggedIn = undefined;
    });
    readFrames(socket, (type, fields) => {
      if (type === tag.loginRequest) {
        // LoginRequest 10: received_persistent_id
        for (const id of textsOf(fields, 10)) unacknowledged.delete(id);
        socket.write(Buffer.from([version]));
        writeFrame(
          socket,
          tag.loginResponse,
          bytesField(1, textsOf(fields, 1)[0] ?? ''),
          varintField(9, Date.now()),
        );
        loggedIn = socket;
        for (const stanza of unacknowledged.values()) writeFrame(socket, tag.data, stanza);
      } else if (type === tag.heartbeatPing) {
        writeFrame(socket, tag.heartbeatAck);
      } else if (type === tag.iq) {
        for (const id of selectivelyAcknowledged(fields)) unacknowledged.delete(id);
      }
    });
  });

  return {
    server,
    deliver(message) {
      const persistentId = randomUUID();
      const stanza = dataMessageStanza(message, persistentId);
      unacknowledged.set(persistentId, stanza);
      if (loggedIn) writeFrame(loggedIn, tag.data, stanza);
    },
    disconnect() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function dataMessageStanza(message: GcmMessage, persistentId: string): Buffer {
  return Buffer.concat([
    bytesField(2, persistentId),
    bytesField(3, message.sender),
    bytesField(5, message.app),
    appData('subtype', message.subtype),
    appData('content-encoding', 'aes128gcm'),
    bytesField(9, persistentId),
    varintField(17, message.ttlSeconds),
    varintField(18, Date.now()),
    bytesField(21, message.body),
  ]);
}

function appData(key: string, value: string): Buffer {
  return bytesField(7, Buffer.concat([bytesField(1, key), bytesField(2, value)]));
}

/** IqStanza 7: extension {1: id, 2: data}; id 12 is a SelectiveAck {1: persistent ids}. */
function selectivelyAcknowledged(iq: Fields): readonly string[] {
  return (iq.get(7) ?? []).flatMap((extension) => {
    const fields = decodeFields(extension as Buffer);
    return fields.get(1)?.[0] === 12n ? textsOf(decodeFields(fields.get(2)![0] as Buffer), 1) : [];
  });
}

function writeFrame(socket: Socket, type: number, ...fields: readonly Buffer[]): void {
  const content = Buffer.concat(fields);
  socket.write(Buffer.concat([Buffer.from([type]), encodeVarint(content.length), content]));
}

/** The stream opens with the version; then each frame is tag(1) ‖ length(varint) ‖ protobuf. */
function readFrames(socket: Socket, onFrame: (type: number, fields: Fields) => void): void {
  let received: Buffer = Buffer.alloc(0);
  let hasVersion = false;
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (!hasVersion && received.length > 0) {
      received = received.subarray(1);
      hasVersion = true;
    }
    for (;;) {
      const length = decodeVarint(received, 1);
      if (!length || received.length < length.end + Number(length.value)) return;
      const end = length.end + Number(length.value);
      const [type, content] = [received[0]!, received.subarray(length.end, end)];
      received = received.subarray(end);
      onFrame(type, decodeFields(content));
    }
  });
}
