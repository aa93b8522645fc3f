// Reads, refuses and ignores options as the original does, with its texts, since applications compare them.
import { Agent } from 'node:https';
import { inspect } from 'node:util';

import { defaultTtlSeconds, maxTopicCharacters, urgencies } from '../protocol/request.ts';
import { isBase64url, supportedContentEncodings } from './vapid.ts';
import { ensure } from './errors.ts';
import type {
  Headers,
  HttpsProxyAgentOptions,
  RequestOptions,
  TransportName,
  VapidDetails,
} from './types.ts';

export interface Defaults {
  readonly gcmAPIKey: string | null | undefined;
  readonly vapidDetails: VapidDetails | null | undefined;
  /** DESKBELL_WEB_PUSH_TRANSPORT */
  readonly transport: string | undefined;
}

export type ReadOptions = ReturnType<typeof readOptions>;

const names = [
  'headers',
  'gcmAPIKey',
  'vapidDetails',
  'TTL',
  'contentEncoding',
  'urgency',
  'topic',
  'proxy',
  'agent',
  'timeout',
];

export function readOptions(options: RequestOptions | undefined, defaults: Defaults) {
  const given: RequestOptions = options || {};
  for (const name of Object.keys(given)) {
    const valid = names.join("', '");
    ensure(
      names.includes(name) || name === 'transport',
      `'${name}' is an invalid option. The valid options are ['${valid}'].`,
    );
  }
  // The original's order decides which of two faults is reported.
  const headers = readHeaders(given);
  const ttlSeconds = readTtl(given.TTL);
  const contentEncoding = given.contentEncoding || supportedContentEncodings.AES_128_GCM;
  const isEncoding = Object.values(supportedContentEncodings).includes(contentEncoding);
  ensure(isEncoding, 'Unsupported content encoding specified.');
  const urgency = given.urgency || 'normal';
  ensure(urgencies.includes(urgency), 'Unsupported urgency specified.');
  const topic = readTopic(given.topic);
  const proxy = readProxy(given.proxy);
  return {
    headers,
    gcmAPIKey: given.gcmAPIKey || defaults.gcmAPIKey,
    // `null` and '' send without VAPID.
    vapidDetails: given.vapidDetails === undefined ? defaults.vapidDetails : given.vapidDetails,
    ttlSeconds,
    contentEncoding,
    urgency,
    topic,
    proxy,
    agent: readAgent(given.agent, proxy !== undefined),
    transport: readTransport(given.transport, defaults.transport),
    timeoutMs: typeof given.timeout === 'number' && given.timeout ? given.timeout : undefined,
  };
}

function readHeaders(options: RequestOptions): Headers {
  const headers = options.headers || {};
  const twice = Object.keys(headers).filter(
    (name) => (options as Readonly<Record<string, unknown>>)[name] !== undefined,
  );
  ensure(
    twice.length === 0,
    `Duplicated headers defined [${twice.join(',')}]. Please either define the header in thetop level options OR in ` +
      "the 'headers' key.",
  );
  return headers;
}

function readTtl(ttl: unknown): number {
  if (ttl === undefined) return defaultTtlSeconds;
  const seconds = Number(ttl);
  ensure(!(seconds < 0), 'TTL should be a number and should be at least 0');
  return seconds;
}

function readTopic(topic: string | undefined): string | undefined {
  if (!topic) return undefined;
  const alphabet = 'URL or filename-safe Base64 characters set';
  ensure(isBase64url(topic), `Unsupported characters set use the ${alphabet}`);
  const isLong = topic.length > maxTopicCharacters;
  ensure(!isLong, `use maximum of ${maxTopicCharacters} characters from the ${alphabet}`);
  return topic;
}

function readProxy(
  proxy: string | HttpsProxyAgentOptions | undefined,
): string | HttpsProxyAgentOptions | undefined {
  if (!proxy) return undefined;
  if (typeof proxy === 'string' || typeof proxy.host === 'string') return proxy;
  console.warn(
    'Attempt to use proxy option, but invalid type it should be a string or proxy options object.',
  );
  return undefined;
}

function readAgent(agent: Agent | undefined, hasProxy: boolean): Agent | undefined {
  if (!agent) return undefined;
  if (!(agent instanceof Agent)) {
    console.warn('Wrong type for the agent option, it should be an instance of https.Agent.');
    return undefined;
  }
  if (hasProxy) console.warn('Agent option will be ignored because proxy option is defined.');
  return agent;
}

function readTransport(option: unknown, variable: string | undefined): TransportName {
  const isOption = option !== undefined;
  const transport = isOption ? option : variable || 'deskbell';
  const name = isOption ? 'transport' : 'DESKBELL_WEB_PUSH_TRANSPORT';
  const isTransport = transport === 'deskbell' || transport === 'node';
  ensure(isTransport, `${name} is ${inspect(transport)}; it must be 'node' or 'deskbell'.`);
  return transport;
}
