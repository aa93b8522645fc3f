import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { loadOrCreateKeyFile, readKeyFile, writeKeyFile } from '../../src/keys/vapid-key-files.ts';
import { loadOrCreateSecret } from '../../src/keys/secret-files.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';

const isWindows = process.platform === 'win32';

describe('key files', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'deskbell-keys-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const keyFile = () => join(folder, 'vapid-keys.json');

  test('first runs at once end up with one and the same pair', async () => {
    const pairs = await Promise.all(Array.from({ length: 8 }, () => loadOrCreateKeyFile(folder)));
    assert.equal(new Set(pairs.map(({ privateKey }) => privateKey)).size, 1);
    assert.deepEqual(readdirSync(folder), ['vapid-keys.json'], 'no temporary file is left');
  });

  test('a directory that others may write to is refused', { skip: isWindows }, async () => {
    await loadOrCreateKeyFile(folder);
    for (const mode of [0o720, 0o702, 0o777, 0o1777]) {
      chmodSync(folder, mode);
      await assert.rejects(readKeyFile(folder), { code: 'ERR_DATA_EXPOSED', message: /chmod go-w/ });
      await assert.rejects(loadOrCreateSecret(folder, 'session-key'), { code: 'ERR_DATA_EXPOSED' });
      await assert.rejects(openDataDirectory(folder), { code: 'ERR_DATA_EXPOSED' });
    }
    chmodSync(folder, 0o755);
    await readKeyFile(folder);
  });

  test(
    'a directory and files that their group may use are taken where one says so, as with fsGroup',
    { skip: isWindows },
    async () => {
      await loadOrCreateKeyFile(folder);
      await (await openDataDirectory(folder)).close();
      const openToGroup = (): void => {
        chmodSync(folder, 0o2770);
        for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o660);
      };
      openToGroup();
      await assert.rejects(openDataDirectory(folder), { code: 'ERR_DATA_EXPOSED' });
      chmodSync(folder, 0o700);
      await assert.rejects(openDataDirectory(folder), { code: 'ERR_KEY_FILE_EXPOSED' });
      openToGroup();
      await (await openDataDirectory(folder, { groupAccess: true })).close();
      chmodSync(join(folder, 'vapid-keys.json'), 0o664);
      await assert.rejects(openDataDirectory(folder, { groupAccess: true }), {
        code: 'ERR_KEY_FILE_EXPOSED',
      });
      chmodSync(folder, 0o772);
      await assert.rejects(openDataDirectory(folder, { groupAccess: true }), { code: 'ERR_DATA_EXPOSED' });
    },
  );

  const load = {
    'vapid-keys.json': readKeyFile,
    'session-key': (directory: string) => loadOrCreateSecret(directory, 'session-key'),
    'receipt-key': (directory: string) => loadOrCreateSecret(directory, 'receipt-key'),
  };
  const others: readonly (readonly [kind: RegExp, make: (path: string) => unknown])[] = [
    [/is a FIFO, and must be a regular file/, (path) => execFileSync('mkfifo', ['-m', '600', path])],
    [/is a directory, and must be a regular file/, (path) => mkdirSync(path)],
    [/is a device, and must be a regular file/, (path) => symlinkSync('/dev/zero', path)],
    [
      /is a socket or a device, and must be a regular file/,
      async (path) => {
        const server = createServer().listen(path);
        await once(server, 'listening');
        after(() => server.close());
      },
    ],
    [
      /has 1099511627776 bytes; at most/,
      (path) => {
        writeFileSync(path, '', { mode: 0o600 });
        truncateSync(path, 2 ** 40);
      },
    ],
  ];
  for (const [name, read] of Object.entries(load)) {
    for (const [kind, make] of others) {
      test(
        `${name} that ${kind.source} is refused, and nothing waits for it`,
        { skip: isWindows },
        async () => {
          await make(join(folder, name));
          await assert.rejects(read(folder), { code: 'ERR_KEY_FILE_CORRUPT', message: kind });
        },
      );
    }
  }

  test('a link to a regular file is followed', { skip: isWindows }, async () => {
    const made = await loadOrCreateKeyFile(folder);
    renameSync(keyFile(), join(folder, 'elsewhere.json'));
    symlinkSync('elsewhere.json', keyFile());
    assert.deepEqual(await readKeyFile(folder), made);
  });

  test('a file that others may read is refused', { skip: isWindows }, async () => {
    await loadOrCreateKeyFile(folder);
    for (const mode of [0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o644]) {
      chmodSync(keyFile(), mode);
      await assert.rejects(readKeyFile(folder), { code: 'ERR_KEY_FILE_EXPOSED' });
    }
  });

  test('a pair is not overwritten without force, and is with it', async () => {
    const first = generateVapidKeys();
    const second = generateVapidKeys();
    await writeKeyFile(folder, first, { force: false });
    await assert.rejects(writeKeyFile(folder, second, { force: false }), { code: 'ERR_KEY_FILE_EXISTS' });
    assert.deepEqual(await readKeyFile(folder), first);
    await writeKeyFile(folder, second, { force: true });
    assert.deepEqual(await readKeyFile(folder), second);
    assert.deepEqual(readdirSync(folder), ['vapid-keys.json']);
  });

  test('a file cut off at any byte is ERR_KEY_FILE_CORRUPT and stays as it is', async () => {
    await loadOrCreateKeyFile(folder);
    const whole = readFileSync(keyFile(), 'utf8');
    for (let length = whole.trimEnd().length - 1; length >= 0; length -= 1) {
      truncateSync(keyFile(), length);
      await assert.rejects(loadOrCreateKeyFile(folder), { code: 'ERR_KEY_FILE_CORRUPT' });
      assert.equal(statSync(keyFile()).size, length);
      writeFileSync(keyFile(), whole);
    }
  });

  test('other contents are ERR_KEY_FILE_CORRUPT, and the error does not show them', async () => {
    const { publicKey } = generateVapidKeys();
    const other = generateVapidKeys();
    const contents = [
      'null',
      '[]',
      '"text"',
      '{}',
      JSON.stringify({ publicKey }),
      JSON.stringify({ publicKey: 1, privateKey: 2 }),
      JSON.stringify({ publicKey, privateKey: other.privateKey }),
      `${other.privateKey} {`,
    ];
    for (const content of contents) {
      writeFileSync(keyFile(), content, { mode: 0o600 });
      await assert.rejects(readKeyFile(folder), (error: Error & { code: string }) => {
        assert.equal(error.code, 'ERR_KEY_FILE_CORRUPT', content);
        for (let fault: unknown = error; fault instanceof Error; fault = fault.cause) {
          assert.ok(!fault.message.includes(other.privateKey.slice(0, 12)), 'the key stands in the message');
        }
        return true;
      });
    }
  });
});

describe('data directory', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'deskbell-data-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('the first run makes everything, with mode 0700; the next finds it again', async () => {
    const path = join(folder, 'a', 'b');
    const first = await openDataDirectory(path);
    await first.close();
    if (!isWindows) assert.equal(statSync(path).mode & 0o777, 0o700);
    // the other secrets come with what they are for
    assert.deepEqual(
      readdirSync(path).filter((name) => !name.startsWith('deskbell.db')),
      ['.gitignore', 'receipt-key', 'session-key', 'vapid-keys.json'],
    );
    assert.equal(readFileSync(join(path, '.gitignore'), 'utf8'), '*\n');
    assert.ok(!existsSync(join(folder, 'a', '.gitignore')), 'the folder above is the user’s own');
    const second = await openDataDirectory(path);
    assert.deepEqual(second.vapidKeys, first.vapidKeys);
    assert.deepEqual([...second.sessionKey], [...first.sessionKey]);
    await second.close();
  });

  test('a database without its key file is an error, never a new pair', async () => {
    const first = await openDataDirectory(folder);
    await first.close();
    rmSync(join(folder, 'vapid-keys.json'));
    await assert.rejects(openDataDirectory(folder), { code: 'ERR_KEY_FILE_MISSING' });
    assert.ok(!readdirSync(folder).includes('vapid-keys.json'));
  });
});
