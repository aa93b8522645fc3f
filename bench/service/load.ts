// The load generator, in a process of its own: keep-alive connections over bare sockets, one request at a time on
// each, no pipelining. It does as little as it can, so that the server is what is measured.
import { createECDH } from 'node:crypto';
import { connect, type Socket } from 'node:net';

export interface LoadOrder {
  readonly port: number;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly connections: number;
  readonly durationMs: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly elapsedMs: number;
  /** 99 of 100 requests were answered within this time. */
  readonly p99Ms: number;
}

process.on('message', (order: LoadOrder) => {
  void run(order).then((result) => process.send?.(result));
});

async function run({ port, method, path, connections, durationMs }: LoadOrder): Promise<LoadResult> {
  const startedAt = performance.now();
  const endAt = startedAt + durationMs;
  const latencies: number[] = [];
  const nextRequest = method === 'GET' ? createGet(path) : createSubscriptionPost(path);
  await Promise.all(
    Array.from({ length: connections }, () => keepAsking(port, nextRequest, endAt, latencies)),
  );
  latencies.sort((one, other) => one - other);
  return {
    requests: latencies.length,
    elapsedMs: performance.now() - startedAt,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
  };
}

/** Asks over one connection, and over another where the server closes it, until it is `endAt`. */
function keepAsking(
  port: number,
  nextRequest: () => string,
  endAt: number,
  latencies: number[],
): Promise<void> {
  return new Promise((resolve, reject) => {
    const classify = createClassifier();
    const buffer = Buffer.allocUnsafe(64 * 1024);
    let socket: Socket;
    let beginning: Uint8Array | undefined;
    let askedAt = 0;
    const ask = (): void => {
      askedAt = performance.now();
      socket.write(nextRequest());
    };
    const receive = (bytes: number): boolean => {
      const read = buffer.subarray(0, bytes);
      const answer = beginning ? Buffer.concat([beginning, read]) : read;
      const kind = classify(answer);
      beginning = kind === 'incomplete' ? Uint8Array.from(answer) : undefined;
      if (kind === 'incomplete') return true;
      const now = performance.now();
      latencies.push(now - askedAt);
      if (kind === 'fault') reject(new Error(answer.toString()));
      else if (now >= endAt) socket.end(resolve);
      else if (kind === 'last') socket.end(open);
      else ask();
      return true;
    };
    const open = (): void => {
      // Every read goes to the same memory.
      const onread = { buffer, callback: receive };
      socket = connect({ host: '127.0.0.1', port, noDelay: true, onread }, ask).on('error', reject);
    };
    open();
  });
}

/** `last`: the server closes the connection after it. */
type AnswerKind = 'incomplete' | 'complete' | 'last' | 'fault';

/**
 * Tells whether an answer is complete. Answers to one request have very few lengths (the digits of `Request-Time`
 * vary): a length that was worked out once is known at a glance.
 */
function createClassifier(): (answer: Buffer) => AnswerKind {
  const knownLengths = new Set<number>();
  return (answer) => {
    // The first digit of the status: "HTTP/1.1 2".
    if (knownLengths.has(answer.length) && answer[9] === 0x32) return 'complete';
    const headLength = answer.indexOf('\r\n\r\n') + 4;
    if (headLength < 4) return 'incomplete';
    const head = answer.toString('latin1', 0, headLength);
    const contentLength = Number(/\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1] ?? 0);
    if (answer.length < headLength + contentLength) return 'incomplete';
    if (!head.startsWith('HTTP/1.1 200 ')) return 'fault';
    if (/\r\nconnection: close\r\n/i.test(head)) return 'last';
    knownLengths.add(answer.length);
    return 'complete';
  };
}

/** A request without a body, always the same. */
function createGet(path: string): () => string {
  const request = `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`;
  return () => request;
}

/** Every request registers another browser, with keys of its own: the service looks for subscriptions with the same keys. */
function createSubscriptionPost(path: string): () => string {
  const ecdh = createECDH('prime256v1');
  const prefix = `https://updates.push.services.mozilla.com/wpush/v2/${process.pid}-${Date.now()}-`;
  let count = 0;
  return () => {
    count += 1;
    const body = `{"endpoint":"${prefix}${count}","p256dh":"${ecdh.generateKeys('base64')}","auth":"BTBZMqHH6r4Tts7J/aSIgg=="}`;
    return `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  };
}
