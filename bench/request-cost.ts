// What a stranger sends costs processor time in proportion to its length: every route of every listener, asked with long
// headers, queries, paths and bodies. Prints what costs more, and then ends with code 1. It is measured, and so no test: what is over a
// bound is measured again, up to twenty times.
import assert from 'node:assert/strict';
import { maxHeaderSize } from 'node:http';
import type { Schema } from '../src/http/schema.ts';
import { Cleanup } from '../test/browser/console-site.ts';
import type { Asked } from '../test/operator/collect-routes.ts';
import { ask, bodyLimitOf, measure } from './request-cost/ask.ts';
import {
  formType,
  hostileFormBodies,
  hostileHeaders,
  hostileJsonBodies,
  hostilePaths,
  hostileQueries,
  hostileTextBodies,
  jsonType,
  textType,
  type Hostile,
  type PlainRequest,
} from './request-cost/hostile-requests.ts';
import { startListeners, type Listener } from './request-cost/listeners.ts';
import { cpuOfParse, leastOf } from './request-cost/measure.ts';

/** For four times the bytes. */
const mostTimes = 8;
/** Of what JSON.parse takes for as many bytes. */
const mostParses = 20;
const mostAnswerBytes = 64 * 1024;
/** What a plain request takes of the bytes that a listener reads of a head. */
const headOfPlainBytes = 2048;
/** What the session’s token takes of a form. */
const formStartBytes = 64;
/** How often a request that is over a bound is measured again. */
const repeats = 20;

/** Read by hooks that come before those of a test. */
const headersOfHooks = [
  'host',
  'origin',
  'cookie',
  'content-type',
  'sec-fetch-site',
  'access-control-request-method',
];

export async function bench(): Promise<void> {
  await using cleanup = new Cleanup();
  for (const listener of await startListeners(cleanup)) {
    assert(listener.routes.length > 20, listener.name);
    const routes = [nothing, ...inOrder(listener.routes)];
    const faults: string[] = [];
    for (const route of routes) faults.push(...(await checkRoute(listener, route)));
    console.log(
      `${listener.name}: ${routes.length} routes, ${faults.length} that cost more than their length`,
    );
    for (const fault of faults) console.log(`  ${fault}`);
    if (faults.length > 0) process.exitCode = 1;
  }
}

/** A path without a route. */
const nothing: Asked = {
  method: 'GET',
  path: '/nothing',
  isOpen: false,
  options: { method: 'GET', url: '/nothing/*', handler: () => {} },
};

/** What removes something comes last, so that it is there for the others. A HEAD is answered by the handler of GET. */
function inOrder(routes: readonly Asked[]): readonly Asked[] {
  const distinct = routes.filter(({ method }) => method !== 'HEAD' && method !== 'OPTIONS');
  return [...distinct.filter((route) => !removes(route)), ...distinct.filter(removes)];
}

const removes = ({ method, path }: Asked): boolean => method === 'DELETE' || path.includes('remove');

async function checkRoute(listener: Listener, { method, path, options }: Asked): Promise<readonly string[]> {
  const { body, querystring, headers } = readOptions(options);
  const { reading } = listener;
  const bare = {
    method,
    path: path + querystring.required.map((name) => `?${name}=1`).join(''),
    headers: {},
  };
  const limits = new Map<string, number>();
  for (const type of bodyTypes) {
    const limit = await bodyLimitOf(listener, withBody(bare, type, ''));
    if (limit > 0) limits.set(type, limit);
  }
  const plain: PlainRequest =
    body !== undefined
      ? withBody(bare, jsonType, exampleOf(body))
      : limits.has(formType)
        ? withBody(bare, formType, '')
        : bare;

  for (const names of [reading.headers, reading.query, reading.body]) names.clear();
  reading.isNoted = true;
  await ask(listener, plain);
  reading.isNoted = false;
  const maxHeadBytes = (listener.app.server as { maxHeaderSize?: number }).maxHeaderSize ?? maxHeaderSize;
  const ofHead = [
    ...hostileHeaders(plain, new Set([...headersOfHooks, ...headers, ...reading.headers])),
    ...hostileQueries(plain, new Set([...querystring.names, ...reading.query])),
    ...hostilePaths(plain, options.url),
  ];
  const faults = await checkAll(listener, plain, ofHead, maxHeadBytes - headOfPlainBytes);
  for (const [type, limit] of limits) {
    if (type === jsonType) {
      const typed = withBody(plain, type, body === undefined ? '{}' : plain.body!);
      faults.push(...(await checkAll(listener, typed, hostileJsonBodies(typed, body), limit)));
    } else if (type === formType) {
      const typed = withBody(plain, type, '');
      const hostile = hostileFormBodies(typed, reading.body);
      faults.push(...(await checkAll(listener, typed, hostile, limit - formStartBytes)));
    } else if (type === textType) {
      // what is not in a text is in the query
      const query = querystring.names.map((name) => `${name}=1`).join('&');
      const typed = { ...withBody(bare, type, ''), path: `${path}?${query}` };
      faults.push(...(await checkAll(listener, typed, hostileTextBodies(typed), limit)));
    } else faults.push(`${method} ${path} reads ${type}, and this test has no such bodies`);
  }
  return faults;
}

const bodyTypes = [jsonType, formType, textType, 'multipart/form-data', 'application/octet-stream', 'x/y'];

const withBody = (plain: PlainRequest, type: string, body: string): PlainRequest => ({
  ...plain,
  headers: { ...plain.headers, 'content-type': type },
  body,
});

const exampleOf = (schema: Schema): string =>
  JSON.stringify((schema['examples'] as readonly unknown[] | undefined)?.[0] ?? {});

function readOptions({ schema, config }: Asked['options']) {
  const { body, querystring } = (schema ?? {}) as { readonly body?: Schema; readonly querystring?: Schema };
  return {
    body,
    querystring: {
      names: Object.keys((querystring?.['properties'] ?? {}) as object),
      required: (querystring?.['required'] ?? []) as readonly string[],
    },
    headers: Object.keys(config?.operation?.headers ?? {}).map((name) => name.toLowerCase()),
  };
}

async function checkAll(
  listener: Listener,
  plain: PlainRequest,
  hostiles: readonly Hostile[],
  bytes: number,
): Promise<string[]> {
  /** What a request of so many bytes may take, as the machine is now. */
  const allowance = async (size: number): Promise<number> => {
    const parse = await leastOf(3, () => cpuOfParse(size));
    const smallest = await leastOf(3, async () => (await measure(listener, plain)).cpu);
    return mostParses * parse + 2 * smallest;
  };
  const sizes = [Math.floor(bytes / 4), bytes] as const;
  // Often, since the first times are slow.
  for (let time = 0; time < 3; time += 1) await allowance(bytes);
  const allowed = [await allowance(sizes[0]), await allowance(sizes[1])] as const;
  const faults: string[] = [];
  for (const hostile of hostiles) {
    const fault = await check(listener, hostile, sizes, allowed, allowance);
    if (fault !== undefined)
      faults.push(
        `${listener.name}: ${plain.method} ${plain.path}, ${hostile.what}, ${bytes} bytes: ${fault}`,
      );
  }
  return faults;
}

type Pair = readonly [ofQuarter: number, ofWhole: number];

/** Where a bound is exceeded, what is allowed is measured again too: other work of the machine slows all of it. @returns what is wrong */
async function check(
  listener: Listener,
  { make }: Hostile,
  sizes: Pair,
  allowed: Pair,
  allowance: (size: number) => Promise<number>,
): Promise<string | undefined> {
  const cpu = [Infinity, Infinity];
  let fault: string | undefined;
  for (let time = 0; time < repeats; time += 1) {
    fault = undefined;
    for (const [index, size] of sizes.entries()) {
      const answer = await measure(listener, make(size));
      if (answer.status === 500) return 'an answer 500';
      if (answer.status >= 400 && answer.bytes > mostAnswerBytes)
        return `an answer ${answer.status} of ${answer.bytes} bytes`;
      const least = Math.min(cpu[index]!, answer.cpu);
      cpu[index] = least;
      if (least <= allowed[index]!) continue;
      const most = Math.max(allowed[index]!, await allowance(size));
      if (least <= most) continue;
      fault = `${least} µs for ${size} bytes, where ${most} are allowed (${answer.status})`;
      if (least > 20 * most && least > 500_000) return fault;
      break;
    }
    if (fault === undefined && cpu[1]! > mostTimes * cpu[0]!)
      fault = `${cpu[0]} µs for a quarter, and ${cpu[1]} µs for the whole`;
    if (fault === undefined) return undefined;
  }
  return fault;
}
