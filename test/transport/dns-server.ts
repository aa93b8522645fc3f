// A DNS server over UDP (RFC 1035 §4.1) with one answer for all names, that says nothing about some of them.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';

const typeA = 1;
const typeAaaa = 28;

export interface DnsServer {
  readonly port: number;
  /** The names that it was asked for, each once for each family. */
  readonly asked: readonly string[];
  close(): void;
}

/**
 * Answers 127.0.0.1 and ::1. Names that begin with `only4.` have no IPv6 address, those that begin with `none.` no address at all, and
 * for those under `silent.example.org` no answer comes.
 */
export async function startDnsServer(address = '127.0.0.1', port = 0): Promise<DnsServer> {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, peer) => {
    const { name, type, end } = readQuestion(query);
    asked.push(name);
    if (name.endsWith('silent.example.org')) return;
    const hasNone = name.startsWith('none.') || (name.startsWith('only4.') && type === typeAaaa);
    const answer = hasNone ? Buffer.alloc(0) : record(type);
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(answer.length > 0 ? 1 : 0, 6);
    socket.send(Buffer.concat([header, query.subarray(12, end), answer]), peer.port, peer.address);
  });
  socket.bind(port, address);
  await once(socket, 'listening');
  return { port: socket.address().port, asked, close: () => void socket.close() };
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** The loopback address of a family, under the name of the question, for a minute; empty for other types. */
function record(type: number): Buffer {
  const data = { [typeA]: [127, 0, 0, 1], [typeAaaa]: [...Array.from({ length: 15 }, () => 0), 1] }[type];
  if (data === undefined) return Buffer.alloc(0);
  return Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length, ...data]);
}
