// The autopush WebSocket protocol as Firefox uses it: JSON in text frames. States of a connection: NEW (accepts only
// `hello`) → GREETED → CLOSED. Broadcasts (Mozilla's settings channel) are accepted but never sent. Pings are
// answered but never sent, so that the two sides cannot keep each other busy.
import type { WebSocket } from 'ws';
import type { Addresses } from '../addresses.ts';
import { parseApplicationServerKey } from '../sender-side/vapid-verification.ts';
import type { EventLog } from '../events.ts';
import type { PushMessage } from '../push-message.ts';
import type { AgentConnection, UserAgentRecord, UserAgents } from './user-agents.ts';

const helloTimeoutMs = 30_000;
export const maxFrameBytes = 64 * 1024;
const maxBufferedBytes = 4 * 1024 * 1024;
const protocolError = 4400;

type Frame = Readonly<Record<string, unknown>>;

export function serveUserAgent(
  socket: WebSocket,
  { agents, addresses, log }: { agents: UserAgents; addresses: Addresses; log: EventLog },
): void {
  let agent: UserAgentRecord | undefined;
  const helloTimeout = setTimeout(() => socket.close(protocolError, 'no hello'), helloTimeoutMs);

  const send = (frame: Frame): void => socket.send(JSON.stringify(frame));
  const connection: AgentConnection = {
    deliver(channelId, message) {
      if (socket.readyState !== socket.OPEN) return false;
      // messages with TTL 0 do not count against the mailbox's limits, so they must not pile up here
      if (message.ttlSeconds === 0 && socket.bufferedAmount > maxBufferedBytes) return false;
      send(toNotification(channelId, message));
      return true;
    },
    close: (code, reason) => socket.close(code, reason),
  };

  function hello(frame: Frame): void {
    if (agent !== undefined) return socket.close(protocolError, 'a second hello');
    if (frame['use_webpush'] !== true) return socket.close(protocolError, 'hello needs "use_webpush": true');
    clearTimeout(helloTimeout);
    agent = agents.connect(textOf(frame['uaid']), connection);
    send({ messageType: 'hello', uaid: agent.uaid, status: 200, use_webpush: true, broadcasts: {} });
    agents.redeliver(agent);
  }

  function register(greeted: UserAgentRecord, frame: Frame): void {
    const channelID = textOf(frame['channelID']);
    const answer = (status: number, further: Frame): void =>
      send({ messageType: 'register', channelID, status, ...further });
    if (channelID === undefined || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(channelID)) {
      return answer(400, { reason: 'channelID must be a UUID' });
    }
    const keyText = frame['key'] ?? undefined;
    const key = keyText === undefined ? undefined : parseApplicationServerKey(String(keyText));
    if (keyText !== undefined && key === undefined) {
      return answer(400, { reason: 'key must be a 65-byte P-256 point in base64url' });
    }
    const subscription = agents.register(greeted, channelID, key?.text);
    if (subscription === 'conflict') return answer(409, { reason: 'the channel has another key' });
    if (subscription === 'full') return answer(503, { reason: 'as many subscriptions as there may be' });
    answer(200, { pushEndpoint: addresses.endpoint(subscription.token) });
  }

  function unregister(greeted: UserAgentRecord, frame: Frame): void {
    const channelID = textOf(frame['channelID']);
    const subscription = greeted.subscriptions.get(channelID ?? '');
    if (subscription !== undefined) agents.unregister(subscription);
    send({ messageType: 'unregister', channelID, status: 200 });
  }

  function acknowledge(greeted: UserAgentRecord, frame: Frame): void {
    const updates: readonly unknown[] = Array.isArray(frame['updates']) ? frame['updates'] : [];
    for (const update of updates) {
      if (!isFrame(update)) continue;
      const version = textOf(update['version']);
      const code = Number(update['code'] ?? 100);
      const channelId = textOf(update['channelID']) ?? '';
      if (version !== undefined) agents.acknowledge(greeted, { channelId, version, code });
    }
  }

  function receive(frame: Frame): void {
    const { messageType } = frame;
    if (messageType === undefined || messageType === 'ping') return send({});
    if (messageType === 'hello') return hello(frame);
    if (agent === undefined) return socket.close(protocolError, 'hello comes first');
    switch (messageType) {
      case 'register':
        return register(agent, frame);
      case 'unregister':
        return unregister(agent, frame);
      case 'ack':
        return acknowledge(agent, frame);
      case 'nack':
        // this failure report follows an `ack`; a message without an `ack` stays stored
        return log.record({
          type: 'reported',
          version: String(frame['version']),
          code: Number(frame['code'] ?? 0),
        });
      case 'broadcast_subscribe':
        return;
      default:
        return socket.close(protocolError, 'unknown messageType');
    }
  }

  socket.on('message', (data, isBinary) => {
    const frame = isBinary ? undefined : readFrame(String(data));
    if (frame === undefined) socket.close(protocolError, 'a frame must be a JSON object');
    else receive(frame);
  });
  socket.on('error', () => socket.terminate());
  socket.on('close', () => {
    clearTimeout(helloTimeout);
    if (agent !== undefined) agents.disconnect(agent, connection);
  });
}

function toNotification(channelID: string, { version, body, contentHeaders }: PushMessage): Frame {
  const notification = { messageType: 'notification', channelID, version };
  // without `headers`, Firefox passes null as data to the service worker
  if (contentHeaders === undefined) return notification;
  return { ...notification, data: Buffer.from(body).toString('base64url'), headers: contentHeaders };
}

function readFrame(text: string): Frame | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFrame(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isFrame(value: unknown): value is Frame {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
