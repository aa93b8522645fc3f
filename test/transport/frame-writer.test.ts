import assert from 'node:assert/strict';
import { test } from 'node:test';

import { FrameWriter } from '../../src/transport/http2/frame-writer.ts';
import { FrameType } from '../../src/transport/http2/protocol.ts';

/** Writes a PING of one byte repeated, and takes it. */
function takePing(writer: FrameWriter, byte: number): { readonly bytes: Buffer; readonly done: () => void } {
  writer.frame(FrameType.ping, 0, 0, Buffer.alloc(8, byte));
  let taken: ReturnType<typeof takePing> | undefined;
  writer.take((bytes, done) => (taken = { bytes, done }));
  assert.ok(taken);
  return taken;
}

test('what the socket still reads stays as it is, however much is written meanwhile', () => {
  const writer = new FrameWriter();
  const pings = Array.from({ length: 10_000 }, (_, index) => takePing(writer, index % 256));
  // Those in the middle are done with.
  for (const { done } of pings.slice(100, 9900)) done();
  const later = Array.from({ length: 10_000 }, () => takePing(writer, 0xff));
  for (const [index, { bytes }] of [...pings.slice(0, 100), ...pings.slice(9900)].entries()) {
    const place = index < 100 ? index : 9800 + index;
    assert.deepEqual(bytes.subarray(-8), Buffer.alloc(8, place % 256), `PING ${place}`);
  }
  assert.equal(later.length, 10_000);
});

test('what is written in time needs one slab', () => {
  const writer = new FrameWriter();
  const slabs = new Set<ArrayBufferLike>();
  for (let index = 0; index < 10_000; index += 1) {
    const { bytes, done } = takePing(writer, index % 256);
    slabs.add(bytes.buffer);
    done();
  }
  assert.equal(slabs.size, 1);
});
