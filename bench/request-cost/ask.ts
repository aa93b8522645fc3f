// Asks a listener within this process, so that no client takes processor time.
import type { InjectOptions } from 'fastify';
import { formType, needed, type PlainRequest } from './hostile-requests.ts';
import type { Listener } from './listeners.ts';
import { cpuOf } from './measure.ts';

export interface Answer {
  readonly status: number;
  readonly bytes: number;
}

/** What an answer takes of the processor. */
export async function measure(
  listener: Listener,
  plain: PlainRequest,
): Promise<Answer & { readonly cpu: number }> {
  const request = await prepare(listener, plain);
  let answer: Answer | undefined;
  const cpu = await cpuOf(async () => {
    answer = await send(listener, request);
  });
  return { ...answer!, cpu };
}

export const ask = async (listener: Listener, plain: PlainRequest): Promise<Answer> =>
  send(listener, await prepare(listener, plain));

let clients = 0;

/** Comes from an address of its own, since there are limits for each. */
async function prepare(listener: Listener, plain: PlainRequest): Promise<InjectOptions> {
  const { headers, formStart } = await listener.credentials(plain.path);
  const isForm = plain.headers['content-type'] === formType;
  const own = Object.entries(plain.headers).map(([name, value]) => [
    name,
    value.replace(needed, () => headers[name] ?? ''),
  ]);
  clients += 1;
  return {
    method: plain.method as 'GET',
    url: plain.path,
    headers: { ...headers, ...Object.fromEntries(own) },
    ...(plain.body !== undefined && { payload: isForm ? formStart + plain.body : plain.body }),
    remoteAddress: `10.${(clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`,
  };
}

/** A stream of events has no end of its own: its beginning is read. */
async function send({ app, reading }: Listener, request: InjectOptions): Promise<Answer> {
  const response = await app.inject({ ...request, payloadAsStream: true });
  if (response.headers['content-type'] === 'text/event-stream') {
    reading.response?.destroy();
    return { status: response.statusCode, bytes: 0 };
  }
  let bytes = 0;
  for await (const chunk of response.stream() as AsyncIterable<Buffer>) bytes += chunk.length;
  return { status: response.statusCode, bytes };
}

/** The longest body that a route reads, in bytes; 0 where it reads none of that type. */
export async function bodyLimitOf(listener: Listener, plain: PlainRequest): Promise<number> {
  const isRead = async (bytes: number): Promise<boolean> => {
    const headers = { ...plain.headers, 'content-length': String(bytes) };
    return (await ask(listener, { ...plain, headers, body: '{}' })).status !== 413;
  };
  let [read, refused] = [0, 2 ** 30];
  if (await isRead(refused)) return 0;
  while (refused - read > 1) {
    const middle = Math.floor((read + refused) / 2);
    if (await isRead(middle)) read = middle;
    else refused = middle;
  }
  return read;
}
