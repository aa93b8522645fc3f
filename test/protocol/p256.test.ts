// Which points are taken: OpenSSL says the same of each.
import assert from 'node:assert/strict';
import { createECDH, ECDH } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { isP256Point } from '../../src/protocol/p256.ts';

const curve = 'prime256v1';
const prime = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;

function opensslTakes(point: Uint8Array): boolean {
  try {
    ECDH.convertKey(point, curve, undefined, undefined, 'compressed');
    return true;
  } catch {
    return false;
  }
}

const scalar = fc
  .uint8Array({ minLength: 31, maxLength: 31 })
  .filter((bytes) => bytes.some((byte) => byte > 0));
const point = scalar.map((bytes) => {
  const ecdh = createECDH(curve);
  ecdh.setPrivateKey(bytes);
  return new Uint8Array(ecdh.getPublicKey());
});
const coordinate = fc.uint8Array({ minLength: 32, maxLength: 32 });

const toHex = (value: bigint): string => value.toString(16).padStart(64, '0');
const toPoint = (x: bigint, y: bigint): Uint8Array => Buffer.from(`04${toHex(x)}${toHex(y)}`, 'hex');

test('each point on the curve is taken, wherever its bytes begin', () => {
  fc.assert(
    fc.property(point, fc.nat(9), (bytes, offset) => {
      const shifted = new Uint8Array(offset + bytes.length + 3);
      shifted.set(bytes, offset);
      assert.equal(opensslTakes(bytes), true);
      assert.equal(isP256Point(shifted.subarray(offset, offset + bytes.length)), true);
    }),
  );
});

test('a point with one changed bit is taken where OpenSSL takes it', () => {
  fc.assert(
    fc.property(point, fc.nat(64), fc.nat(7), (bytes, at, bit) => {
      const changed = Uint8Array.from(bytes);
      changed[at]! ^= 1 << bit;
      assert.equal(isP256Point(changed), changed[0] === 4 && opensslTakes(changed));
    }),
  );
});

test('any two coordinates are taken where OpenSSL takes them', () => {
  fc.assert(
    fc.property(coordinate, coordinate, (x, y) => {
      const bytes = Uint8Array.of(4, ...x, ...y);
      assert.equal(isP256Point(bytes), opensslTakes(bytes));
    }),
  );
});

test('a coordinate that is the prime or more is refused, even where it is on the curve without it', () => {
  const compressed = Buffer.from(`02${toHex(5n)}`, 'hex');
  const uncompressed = ECDH.convertKey(compressed, curve, undefined, 'hex', 'uncompressed') as string;
  const y = BigInt(`0x${uncompressed.slice(66)}`);
  assert.equal(isP256Point(toPoint(5n, y)), true);
  assert.equal(isP256Point(toPoint(5n, prime - y)), true);
  for (const outside of [
    toPoint(5n + prime, y),
    toPoint(2n ** 256n - 1n, 2n ** 256n - 1n),
    toPoint(0n, 0n),
    toPoint(prime, 0n),
  ]) {
    assert.equal(opensslTakes(outside), false);
    assert.equal(isP256Point(outside), false);
  }
});

test('other forms are refused: compressed, hybrid, too short or too long', () => {
  const ecdh = createECDH(curve);
  ecdh.setPrivateKey(Buffer.alloc(32, 7));
  const bytes = new Uint8Array(ecdh.getPublicKey());
  assert.equal(isP256Point(bytes), true);
  assert.equal(isP256Point(ecdh.getPublicKey(null, 'compressed')), false);
  assert.equal(isP256Point(ecdh.getPublicKey(null, 'hybrid')), false);
  assert.equal(isP256Point(bytes.subarray(0, 64)), false);
  assert.equal(isP256Point(Uint8Array.of(...bytes, 0)), false);
  assert.equal(isP256Point(new Uint8Array(0)), false);
});
