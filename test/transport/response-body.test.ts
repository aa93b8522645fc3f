// The part of an answer's body that is kept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';

import { maxResponseBodyBytes, ResponseBody } from '../../src/transport/exchange.ts';

test('pieces are put together up to the limit, whatever other bodies were read before or meanwhile', () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 1500 }), { maxLength: 8 });
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (bodies) => {
      // All at once, so that their buffers must differ; then again, with the buffers of the first ones.
      for (let round = 0; round < 2; round += 1) {
        const open = bodies.map((parts) => {
          const body = new ResponseBody();
          let bytes = 0;
          for (const part of parts) {
            bytes += part.length;
            assert.equal(body.add(Buffer.from(part)), bytes <= maxResponseBodyBytes || part.length === 0);
          }
          return body;
        });
        for (const [index, body] of open.entries()) {
          const whole = Buffer.concat(bodies[index] ?? []).subarray(0, maxResponseBodyBytes);
          assert.equal(body.take(), whole.toString());
          assert.equal(body.take(), '');
        }
      }
    }),
  );
});
