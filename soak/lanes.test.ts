// P-256 in lanes with the instructions that a release has, on an emulated processor with AVX-512 IFMA (Bochs, which PyPI has as bochscpu):
// the results of gcc and clang at each level of optimisation, vectors of NIST and of Wycheproof, and that neither instructions nor
// addresses depend on the private key. And a million agreements.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createECDH } from 'node:crypto';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';

import { compileFor } from '../scripts/accelerator/compile.ts';
import { findOrFetchHeaders } from '../scripts/accelerator/inputs.ts';
import { compiler, find, install, type Program } from '../scripts/install-test-tools.ts';
import { root } from '../scripts/repository.ts';
import { type Addon, describePlatform } from '../src/accelerator/addon.ts';
import {
  badPoints,
  buildPortable,
  edgeScalars,
  exceptions,
  findDifferences,
  order,
  type Pair,
  patternedPair,
  pointOf,
  randomPair,
  toBytes,
} from '../test/accelerator/lanes.ts';
import { installPythonPackages } from '../tools/python-packages.ts';

const execute = promisify(execFile);
const purpose = 'lanes on an emulated processor';
const clang: Program = { names: ['clang'], debianPackage: 'clang' };
const symbols: Program = { names: ['nm'], debianPackage: 'binutils' };
const cargo: Program = { names: ['cargo'], debianPackage: 'cargo' };
const virtualEnvironment: Program = { names: ['python3'], debianPackage: 'python3-venv' };
const isPossible =
  describePlatform() === 'linux-x64-glibc' &&
  (await install(purpose, [compiler, clang, symbols, cargo, virtualEnvironment]));
const skip = isPossible ? false : 'They are tried on linux-x64 with Debian’s packages.';
const agreements = 1_000_000;

interface Answer {
  readonly failed: number;
  readonly results: readonly (readonly [publicKey: string, secret: string, isPoint: boolean])[];
  readonly trace: { instructions: number; hash: string; masked: Record<string, number> } | null;
}

suite(purpose, { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-lanes-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  let python: string;
  let preload: string;
  before(async () => {
    const packages = ['bochscpu-python==0.4.0', 'cryptography-vectors==50.0.2'];
    python = join(await installPythonPackages('lanes', packages), 'python');
    preload = buildPreload(folder);
  });

  /** Runs batches on the emulated processor. */
  async function emulate(
    file: string,
    symbolsOf: string,
    batches: readonly (readonly Pair[])[],
    trace = false,
  ) {
    const addresses = addressesIn(symbolsOf);
    const job = {
      file,
      trace,
      prepare: addresses('prepare_lanes'),
      agree: addresses('agree_lanes'),
      batches: batches.map((batch) =>
        batch.map(({ privateKey, peer }) => [privateKey.toString('hex'), peer.toString('hex')]),
      ),
    };
    const running = execute(python, [join(import.meta.dirname, 'emulate-lanes.py')], {
      env: { ...process.env, LD_PRELOAD: preload },
      maxBuffer: 2 ** 28,
    });
    running.child.stdin!.end(JSON.stringify(job));
    return JSON.parse((await running).stdout) as readonly Answer[];
  }

  for (const name of ['gcc', 'clang']) {
    for (const level of ['-O0', '-O1', '-O2', '-O3']) {
      test(`${name} ${level} gives the results of OpenSSL`, async () => {
        const file = join(folder, `${name}${level}.so`);
        const flags = ['-std=c11', '-Wall', '-Wextra', '-Werror', '-fPIC', '-shared', level];
        execFileSync(name, [
          ...flags,
          '-isystem',
          findOrFetchHeaders(),
          join(root, 'native/p256_lanes.c'),
          '-o',
          file,
        ]);
        // without optimisation the emulator takes a minute for eight
        const pairs = [
          ...edgePairs.slice(0, level === '-O0' ? 8 : 40),
          ...Array.from({ length: 24 }, randomPair),
        ];
        const batch = pairs.slice(0, level === '-O0' ? 8 : 64);
        check(batch, (await emulate(file, file, [batch]))[0]!);
      });
    }
  }

  for (const platform of ['linux-x64-glibc', 'linux-x64-musl'] as const) {
    suite(`of the release for ${platform}`, () => {
      const file = join(folder, `${platform}.node`);
      const withSymbols = `${file}.symbols`;
      before(() => {
        compileFor(platform, file, findOrFetchHeaders());
        compileFor(platform, withSymbols, findOrFetchHeaders(), []);
        assert.deepEqual(codeOf(file), codeOf(withSymbols));
      });

      test('edges, random and patterned keys, and what is no point', async () => {
        const pairs = [
          ...edgePairs,
          ...badPoints.map((peer) => ({ privateKey: toBytes(9n), peer })),
          ...Array.from({ length: 300 }, randomPair),
          ...Array.from({ length: 300 }, patternedPair),
        ];
        const batches = inBatches(pairs);
        const answers = await emulate(file, withSymbols, batches);
        for (const [index, batch] of batches.entries()) check(batch, answers[index]!);
      });

      test('each exception of the formulas is told by its lane, and nothing else is one', async () => {
        const scalars = edgeScalars.filter((scalar) => !exceptions.includes(scalar));
        const batches = exceptions.map((exception, place) =>
          Array.from({ length: 16 }, (_, index) => ({
            privateKey: toBytes(index === place + 8 ? exception : scalars[index]!),
            peer: pointOf(BigInt(index + 5)),
          })),
        );
        const answers = await emulate(file, withSymbols, [...batches, ...inBatches(edgePairs)]);
        assert.deepEqual(
          answers.slice(0, exceptions.length).map(({ failed }) => failed),
          exceptions.map((_, place) => 1 << place),
        );
      });

      test('vectors of NIST and of Wycheproof', async () => {
        const vectors = [...nistVectors(python), ...wycheproofVectors(folder)];
        assert.ok(vectors.length > 350);
        const batches = inBatches(vectors);
        const answers = (await emulate(file, withSymbols, batches)).flatMap(({ failed, results }) =>
          results.map((result, index) => [result, (failed >> (index % 8)) & 1] as const),
        );
        for (const [index, { secret, publicKey }] of vectors.entries()) {
          const [[foundKey, foundSecret, isPoint], failed] = answers[index]!;
          if (failed === 1) continue;
          assert.equal(isPoint, secret !== undefined, `vector ${index}`);
          if (secret !== undefined) assert.equal(foundSecret, secret, `vector ${index}`);
          if (publicKey !== undefined) assert.equal(foundKey, publicKey, `vector ${index}`);
        }
      });

      test('ten private keys take the same instructions and the same addresses', async () => {
        const scalars = [1n, 3n, 2n ** 128n, order / 2n, order - 1n, 0x5555n * 2n ** 200n, 2n ** 255n];
        const keys = [...scalars.map(toBytes), ...Array.from({ length: 3 }, () => randomPair().privateKey)];
        const peer = pointOf(12_345n);
        const batches = keys.map((privateKey) => [{ privateKey, peer }]);
        const traces = (await emulate(file, withSymbols, batches, true)).map(({ trace }) => trace!);
        assert.ok(traces[0]!.instructions > 100_000);
        const lines = new Map<string, number>();
        for (const { instructions, hash, masked } of traces) {
          assert.deepEqual([instructions, hash], [traces[0]!.instructions, traces[0]!.hash]);
          for (const [number, line] of Object.entries(masked)) {
            assert.equal(lines.get(number) ?? line, line, `instruction ${number}`);
            lines.set(number, line);
          }
        }
      });
    });
  }
});

test(
  'a million agreements are those of OpenSSL: of the release, or in plain C without IFMA',
  { skip },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'deskbell-agreements-'));
    after(() => rmSync(folder, { recursive: true, force: true }));
    const release = join(folder, 'release.node');
    compileFor('linux-x64-glibc', release, findOrFetchHeaders());
    let addon = createRequire(import.meta.url)(release) as Addon;
    if (!addon.hasMultiBuffer()) addon = buildPortable(join(folder, 'portable.node'), ['-O3']);
    for (let count = 0; count < agreements; count += 64) {
      const pairs = Array.from({ length: 64 }, count % 256 === 0 ? patternedPair : randomPair);
      assert.deepEqual(findDifferences(addon, pairs), []);
    }
  },
);

const edgePairs: readonly Pair[] = edgeScalars.flatMap((scalar, index) =>
  [scalar, edgeScalars[(index + 29) % edgeScalars.length]!].map((other) => ({
    privateKey: toBytes(scalar),
    peer: pointOf(other),
  })),
);

function inBatches<T>(all: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / 64) }, (_, index) =>
    all.slice(64 * index, 64 * (index + 1)),
  );
}

const isException = ({ privateKey }: Pair): boolean =>
  exceptions.some((one) => toBytes(one).equals(privateKey));

/** Holds results against Node's own. Lanes with an exception have none. */
function check(batch: readonly Pair[], { failed, results }: Answer): void {
  const own = createECDH('prime256v1');
  for (const [index, { privateKey, peer }] of batch.entries()) {
    if (((failed >> (index % 8)) & 1) === 1) continue;
    own.setPrivateKey(privateKey);
    const [publicKey, secret, isPoint] = results[index]!;
    assert.equal(publicKey, own.getPublicKey('hex'), `private key ${privateKey.toString('hex')}`);
    let expected: string | undefined;
    try {
      expected = own.computeSecret(peer, undefined, 'hex');
    } catch {
      // not a point
    }
    if (expected === undefined) assert.equal(isPoint, false, peer.toString('hex'));
    else assert.deepEqual([isPoint, secret], [true, expected], `private key ${privateKey.toString('hex')}`);
  }
  const wanted = batch.reduce((lanes, pair, index) => lanes | (isException(pair) ? 1 << (index % 8) : 0), 0);
  assert.equal(failed, wanted);
}

function addressesIn(file: string): (name: string) => number {
  const lines = execFileSync('nm', [file], { encoding: 'utf8' }).split('\n');
  return (name) =>
    Number.parseInt(
      lines.find((line) => line.endsWith(` ${name}`))!,
      16,
    );
}

/** The bytes of all instructions. */
function codeOf(file: string): Buffer {
  const code = `${file}.text`;
  execFileSync('objcopy', ['-O', 'binary', '--only-section=.text', file, code]);
  return readFileSync(code);
}

/** Two functions of a newer C library that the emulator's package asks for. */
function buildPreload(folder: string): string {
  const file = join(folder, 'preload.so');
  const source = `
    #include <stdarg.h>
    #include <stdio.h>
    #include <stdlib.h>
    unsigned long long __isoc23_strtoull(const char *text, char **end, int base) { return strtoull(text, end, base); }
    int __isoc23_sscanf(const char *text, const char *format, ...) {
      va_list values;
      va_start(values, format);
      int count = vsscanf(text, format, values);
      va_end(values);
      return count;
    }\n`;
  const { status } = spawnSync('cc', ['-shared', '-fPIC', '-x', 'c', '-', '-o', file], { input: source });
  assert.equal(status, 0);
  return file;
}

interface Vector extends Pair {
  /** In hex; `undefined` where the peer is no point. */
  readonly secret: string | undefined;
  readonly publicKey?: string;
}

/** The validity test of NIST's CAVS for static ECDH, as the Python package cryptography has it, for P-256. */
function nistVectors(python: string): readonly Vector[] {
  const pattern = '../lib/python*/site-packages/cryptography_vectors/asymmetric/ECDH/*NOKC_ZZOnly_init.fax';
  const file = globSync(pattern, { cwd: join(python, '..') })[0]!;
  const text = readFileSync(join(python, '..', file), 'latin1').replaceAll('\r', '');
  const part = text.slice(text.indexOf('[EC - SHA256]'), text.indexOf('[ED - SHA384]'));
  return part.split('COUNT = ').flatMap((entry) => {
    const field = (name: string): string => new RegExp(`^${name} = (\\w+)`, 'm').exec(entry)?.[1] ?? '';
    const isGood = /^Result = P/m.test(entry);
    if (!isGood && !/CAVS's Static public key [XY] fails/.test(entry)) return [];
    const pad = (name: string): string => field(name).padStart(64, '0');
    return [
      {
        privateKey: Buffer.from(pad('dsIUT'), 'hex'),
        peer: Buffer.from(`04${pad('QsCAVSx')}${pad('QsCAVSy')}`, 'hex'),
        secret: isGood ? field('Z') : undefined,
        ...(isGood && { publicKey: `04${pad('QsIUTx')}${pad('QsIUTy')}` }),
      },
    ];
  });
}

/** Wycheproof's tests of ECDH on P-256 with points of 65 bytes, as the crate of that name has them. */
function wycheproofVectors(folder: string): readonly Vector[] {
  const crate = join(folder, 'vectors');
  mkdirSync(join(crate, 'src'), { recursive: true });
  writeFileSync(join(crate, 'src/lib.rs'), '');
  writeFileSync(
    join(crate, 'Cargo.toml'),
    '[package]\nname = "vectors"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\nwycheproof = "=0.7.0"\n',
  );
  execFileSync(find(cargo)!, ['vendor', '--quiet'], { cwd: crate });
  const file = join(crate, 'vendor/wycheproof/src/data/ecdh_secp256r1_ecpoint_test.json');
  const { testGroups } = JSON.parse(readFileSync(file, 'utf8')) as {
    testGroups: { tests: { public: string; private: string; shared: string; result: string }[] }[];
  };
  return testGroups.flatMap(({ tests }) =>
    tests.flatMap((one) => {
      const peer = Buffer.from(one.public, 'hex');
      const privateKey = Buffer.from(one.private.slice(-64).padStart(64, '0'), 'hex');
      // others never reach the lanes
      if (peer.length !== 65) return [];
      return [{ privateKey, peer, secret: one.result === 'invalid' ? undefined : one.shared }];
    }),
  );
}
