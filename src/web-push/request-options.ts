// Reads the options of a request as the original does: what it refuses, and what it warns of on the console and leaves
// out. The texts are the original's, since applications compare them.
import { Agent } from 'node:https';

import { urgencies } from '../protocol/request.ts';
import { supportedContentEncodings } from './content-encodings.ts';
import type {
  ContentEncoding,
  Headers,
  ProxyOptions,
  RequestOptions,
  Urgency,
  VapidDetails,
} from './types.ts';
import { isBase64url } from './vapid.ts';

/** What `setGCMAPIKey` and `setVapidDetails` have set. */
export interface Defaults {
  readonly gcmAPIKey: string | null | undefined;
  readonly vapidDetails: VapidDetails | null | undefined;
}

export interface ReadOptions extends Defaults {
  readonly headers: Headers;
  readonly ttlSeconds: number;
  readonly contentEncoding: ContentEncoding;
  readonly urgency: Urgency;
  readonly topic: string | undefined;
  readonly proxy: string | ProxyOptions | undefined;
  readonly agent: Agent | undefined;
  readonly timeoutMs: number | undefined;
}

const defaultTtlSeconds = 28 * 24 * 60 * 60;
const maxTopicCharacters = 32;
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

/** @throws {Error} */
export function readOptions(options: RequestOptions | undefined, defaults: Defaults): ReadOptions {
  const given: RequestOptions = options || {};
  for (const name of Object.keys(given)) {
    if (!names.includes(name)) {
      throw new Error(`'${name}' is an invalid option. The valid options are ['${names.join("', '")}'].`);
    }
  }
  // In the order of the original, so that of two faults the same one is told.
  const headers = readHeaders(given);
  const ttlSeconds = readTtl(given.TTL);
  const contentEncoding = readContentEncoding(given.contentEncoding);
  const urgency = readUrgency(given.urgency);
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
    timeoutMs: typeof given.timeout === 'number' && given.timeout ? given.timeout : undefined,
  };
}

function readHeaders(options: RequestOptions): Headers {
  if (!options.headers) return {};
  const twice = Object.keys(options.headers).filter(
    (name) => (options as Readonly<Record<string, unknown>>)[name] !== undefined,
  );
  if (twice.length === 0) return options.headers;
  throw new Error(
    `Duplicated headers defined [${twice.join(',')}]. Please either define the header in thetop level options OR in ` +
      "the 'headers' key.",
  );
}

function readTtl(ttl: unknown): number {
  if (ttl === undefined) return defaultTtlSeconds;
  const seconds = Number(ttl);
  if (seconds < 0) throw new Error('TTL should be a number and should be at least 0');
  return seconds;
}

function readContentEncoding(encoding: ContentEncoding | undefined): ContentEncoding {
  if (!encoding) return supportedContentEncodings.AES_128_GCM;
  if (Object.values(supportedContentEncodings).includes(encoding)) return encoding;
  throw new Error('Unsupported content encoding specified.');
}

function readUrgency(urgency: Urgency | undefined): Urgency {
  if (!urgency) return 'normal';
  if (urgencies.includes(urgency)) return urgency;
  throw new Error('Unsupported urgency specified.');
}

function readTopic(topic: string | undefined): string | undefined {
  if (!topic) return undefined;
  if (!isBase64url(topic)) {
    throw new Error('Unsupported characters set use the URL or filename-safe Base64 characters set');
  }
  if (topic.length > maxTopicCharacters) {
    throw new Error(
      `use maximum of ${maxTopicCharacters} characters from the URL or filename-safe Base64 characters set`,
    );
  }
  return topic;
}

function readProxy(proxy: string | ProxyOptions | undefined): string | ProxyOptions | undefined {
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
