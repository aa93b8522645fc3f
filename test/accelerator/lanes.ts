// P-256 in lanes (native/p256_lanes.c) as tests build it: in plain C on any machine, or with intervals for numbers.
import { execFileSync } from 'node:child_process';
import { createECDH, randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { compileAccelerator } from '../../scripts/accelerator/compile.ts';
import { findOrFetchHeaders } from '../../scripts/accelerator/inputs.ts';
import { root } from '../../scripts/repository.ts';
import type { Addon } from '../../src/accelerator/addon.ts';
import { generateUserAgentKeys } from '../../src/protocol/user-agent.ts';

const lanesHeader = (name: string): string =>
  `-DLANES_HEADER="${join(import.meta.dirname, name).replaceAll('\\', '\\\\')}"`;
export const portable = lanesHeader('portable-lanes.h');
const native = join(root, 'native');

/** SEC 2 §2.4.2: the order of the group. */
export const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const prime = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
export const toBytes = (number: bigint): Buffer => Buffer.from(number.toString(16).padStart(64, '0'), 'hex');

/** Private keys at the edges: small ones, powers of two, halves; those that meet an exception are 2 and the order minus 2. */
export const edgeScalars: readonly bigint[] = [
  ...Array.from({ length: 18 }, (_, index) => BigInt(index + 1)),
  81n,
  161n,
  162n,
  163n,
  (order - 1n) / 2n,
  15n * 2n ** 253n - order,
  510n * 2n ** 248n - order,
  ...Array.from({ length: 7 }, (_, index) => 2n ** BigInt(32 * (index + 1))).flatMap((power) => [
    power - 1n,
    power,
    power + 1n,
  ]),
  2n ** 255n,
  2n ** 252n - 1n,
].flatMap((scalar) => [scalar, order - scalar]);
export const exceptions: readonly bigint[] = [2n, order - 2n];

/** The base point times a number. */
export function pointOf(scalar: bigint): Buffer {
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(toBytes(scalar));
  return pair.getPublicKey();
}

/** What is no point: off the curve, not in the field, of another form. */
export const badPoints: readonly Buffer[] = [
  Buffer.concat([Buffer.of(4), toBytes(1n), toBytes(1n)]),
  Buffer.concat([Buffer.of(4), toBytes(0n), toBytes(0n)]),
  Buffer.concat([Buffer.of(4), toBytes(prime), toBytes(1n)]),
  Buffer.concat([Buffer.of(4), toBytes(5n), toBytes(prime)]),
  Buffer.alloc(65, 0xff).fill(4, 0, 1),
  Buffer.from(pointOf(7n)).fill(5, 0, 1),
  flipped(pointOf(7n), 64),
  flipped(pointOf(7n), 1),
];

function flipped(point: Buffer, at: number): Buffer {
  point[at]! ^= 1;
  return point;
}

/** The addon with lanes in plain C. */
export function buildPortable(file: string, flags: readonly string[] = []): Addon {
  compileAccelerator(file, findOrFetchHeaders(), [portable, ...flags]);
  return createRequire(import.meta.url)(file) as Addon;
}

export interface Pair {
  readonly privateKey: Buffer;
  readonly peer: Buffer;
}

export const randomPair = (): Pair => ({
  privateKey: Buffer.from(generateUserAgentKeys().privateKey),
  peer: Buffer.from(generateUserAgentKeys().p256dh),
});

/** A number of long runs of equal bits from 1 to the order less one. */
function patternedScalar(): bigint {
  let scalar = 0n;
  for (let bits = 0; bits < 256;) {
    const run = randomInt(1, 65);
    scalar = (scalar << BigInt(run)) | (randomInt(2) === 0 ? 0n : 2n ** BigInt(run) - 1n);
    bits += run;
  }
  return (BigInt.asUintN(256, scalar) % (order - 1n)) + 1n;
}

/** A private key and a peer made of patterned numbers. Some peers are no points. */
export function patternedPair(): Pair {
  const isPoint = randomInt(8) !== 0;
  const peer = isPoint
    ? pointOf(patternedScalar())
    : Buffer.concat([Buffer.of(4), toBytes(patternedScalar()), toBytes(patternedScalar())]);
  return { privateKey: toBytes(patternedScalar()), peer };
}

/** The indices of those of up to 64 for which the lanes and OpenSSL differ in public key or secret, or in taking the peer for a point. */
export function findDifferences(addon: Addon, pairs: readonly Pair[]): readonly number[] {
  const keys = Buffer.concat(pairs.flatMap(({ peer }) => [peer, Buffer.alloc(16, 3)]));
  const fixed = Buffer.concat(pairs.flatMap(({ privateKey }) => [Buffer.alloc(16, 7), privateKey]));
  const texts = pairs.map(() => Buffer.alloc(0));
  const answers = [true, false].map((usesMultiBuffer) => {
    const bodies = Buffer.alloc(103 * pairs.length);
    const refused = addon.encryptBatch(bodies, texts, keys, usesMultiBuffer, fixed) ?? [];
    return pairs.map(
      (_, index) => `${refused.includes(index)} ${bodies.toString('hex', 103 * index, 103 * (index + 1))}`,
    );
  });
  return pairs.flatMap((_, index) => (answers[0]![index] === answers[1]![index] ? [] : [index]));
}

/**
 * Runs the source with intervals, after each line with a bound in its comment a check of it.
 *
 * @param changes to the source, to see that they are found
 * @returns how many bounds were checked
 * @throws {Error} a bound does not hold, or a number can overflow
 */
export function checkBounds(
  folder: string,
  ...changes: readonly [wanted: RegExp | string, other: string][]
): number {
  let source = readFileSync(join(native, 'p256_lanes.c'), 'utf8');
  for (const [wanted, other] of changes) source = source.replace(wanted, other);
  let bounds = 0;
  const checked = source.split('\n').map((line, index) => {
    const [, name, low = '0', high] =
      /^\s+(?:Element )?([\w.>-]+) = .*; +\/\/ (?:.*, )?(?:(-?[\d.]+) to|<) ([\d.]+) p$/.exec(line) ?? [];
    if (name === undefined) return line;
    bounds += 1;
    return `${line}\ncheck_bound((${name}).digits, ${low}, ${high}, ${index + 1});`;
  });
  const program = join(folder, 'bounds');
  writeFileSync(
    `${program}.c`,
    `${checked.join('\n')}
    void OPENSSL_cleanse(void *bytes, size_t length) { (void)bytes, (void)length; }
    bool is_in_field(const uint8_t *point) { (void)point; return true; }
    int main(void) {
      static uint8_t peer[POINT_BYTES];
      static Agreement agreements[MAX_BATCH];
      for (int i = 0; i < MAX_BATCH; i++) agreements[i].peer = peer;
      prepare_lanes();
      agree_lanes(agreements, MAX_BATCH);
    }\n`,
  );
  const flags = ['-O0', '-w', `-I${native}`, lanesHeader('intervals.h'), '-isystem', findOrFetchHeaders()];
  execFileSync('cc', [...flags, `${program}.c`, '-o', program]);
  execFileSync(program, { stdio: 'pipe' });
  return bounds;
}
