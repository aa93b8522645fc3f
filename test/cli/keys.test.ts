// `deskbell keys`: a pair is made once, moves in and out as text, and is never lost by accident.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createECDH, createPrivateKey, ECDH, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { openssl, skipWithout } from '../../scripts/install-test-tools.ts';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { parseKeyPair } from '../../src/cli/input/import-keys.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { startPushService } from '../../src/push-service/index.ts';
import { sendJson } from '../service/running-service.ts';
import { exampleSubscription } from './example-subscriptions.ts';
import {
  newData,
  outputOf,
  parseLines,
  runCommand,
  runUntilStopped,
  serve,
  spawnUntilStopped,
  temporaryFolder,
} from './run-command.ts';

// It brings no types.
const webPush = createRequire(import.meta.url)('web-push') as {
  generateVAPIDKeys(): { publicKey: string; privateKey: string };
  setVapidDetails(subject: string, publicKey: string, privateKey: string): void;
};

suite('deskbell keys', { concurrency: true }, () => {
  test('generate makes a pair that only its owner can read, show prints it', async () => {
    const data = join(await temporaryFolder(), 'new/data');
    const made = await outputOf(runCommand(['keys', 'generate', '--data', data, '--json']));
    const { publicKey } = JSON.parse(made) as { publicKey: string };
    assert.match(publicKey, /^[\w-]{87}$/);
    assert.equal((await stat(data)).mode & 0o777, 0o700);
    assert.equal((await stat(join(data, 'vapid-keys.json'))).mode & 0o777, 0o600);

    const shown = await runCommand(['keys', 'show', '--data', data]);
    assert.equal(shown.stdout, `Public key:  ${publicKey}\n`);
    const both = await runCommand(['keys', 'show', '--private', '--data', data]);
    assert.match(both.stdout, /^Public key: {2}[\w-]{87}\nPrivate key: [\w-]{43}\n$/);
  });

  test('a pair that the npm package web-push made is taken over, and the other way round', async () => {
    const data = await temporaryFolder();
    const keys = webPush.generateVAPIDKeys();
    const file = join(data, 'web-push.json');
    await writeFile(file, JSON.stringify(keys));
    const imported = await runCommand(['keys', 'generate', '--import', file, '--data', data]);
    assert.equal(imported.exitCode, 0, imported.stderr);
    const again = await runCommand(['keys', 'generate', '--import', file, '--data', data]);
    assert.deepEqual(again, {
      ...imported,
      stderr:
        'Found a private key (32 bytes in base64) and its public key (65 bytes in base64).\n' +
        'This pair is there already; nothing was changed.\n',
    });
    const { stdout } = await runCommand(['keys', 'show', '--private', '--json', '--data', data]);
    assert.deepEqual(JSON.parse(stdout), keys);
    assert.doesNotThrow(() =>
      webPush.setVapidDetails('mailto:push@example.org', keys.publicKey, keys.privateKey),
    );
  });

  test('a lost key file beside subscriptions is not replaced unasked; the lost pair itself comes back', async () => {
    const { data, run } = await newData();
    const { stdout: backup } = await run('keys show --private');
    await run('subscriptions import -', JSON.stringify(exampleSubscription(1)));
    await rm(join(data, 'vapid-keys.json'));

    const { exitCode, stderr } = await run('keys generate');
    assert.equal(exitCode, 1);
    assert.match(stderr, /ERR_KEY_FILE_EXISTS/);
    await outputOf(run('keys generate --import -', backup));
  });

  test('a key file that cannot be written is named', async () => {
    const data = await temporaryFolder();
    await mkdir(join(data, 'vapid-keys.json'));
    const { exitCode, stderr } = await runCommand(['keys', 'generate', '--force', '--data', data]);
    assert.equal(exitCode, 1);
    assert.match(stderr, /^deskbell: .*vapid-keys\.json cannot be written: it is a directory.*ERR_FILE\]\n$/);
  });

  test('an import that waits for standard input ends on SIGINT and makes no pair', async () => {
    const data = join(await temporaryFolder(), 'data');
    const waiting = spawnUntilStopped(['keys', 'generate', '--import', '-', '--data', data]);
    // What is written is taken by the process once it reads.
    await new Promise((resolve) => waiting.stdin.write(' '.repeat(1_000_000), resolve));
    assert.equal(await waiting.end('SIGINT'), 1);
    await assert.rejects(stat(data), { code: 'ENOENT' });
  });
});

// `deskbell keys rotate`, `list` and `retire` beside processes that run: two services and a worker on one data directory
// switch to the new pair without a restart, and no subscription is lost.

const message = ['--title', 'Ding dong', '--message', 'Tea is ready'];

const offeredBy = async (service: string): Promise<string> =>
  (await (await fetch(`${service}/vapidKey`)).json()) as string;

test('deskbell keys beside two services and a worker', async (t) => {
  const pushService = await startPushService();
  t.after(() => pushService.close());
  const { data, environment, run, publicKey: first } = await newData(pushService);
  const listed = async () => parseLines((await run('keys list --json')).stdout);
  const rotate = async (): Promise<string> => {
    const stdout = await outputOf(run('keys rotate --json'));
    return parseLines(stdout)[0].publicKey;
  };
  /** Registers a subscription that the push service takes messages for from this key only. */
  const register = (service: string, vapidPublicKey: string): Promise<Response> => {
    const [subscription] = pushService.createSinks(1, { vapidPublicKey });
    return sendJson(service, 'POST', '/webPush', subscription, { 'deskbell-vapid-key': vapidPublicKey });
  };

  const keyFiles = async (): Promise<readonly string[]> =>
    (await readdir(data)).filter((name) => name.startsWith('vapid-keys'));
  const pairOf = async (wanted: string): Promise<{ readonly privateKey: string }> => {
    for (const name of await keyFiles()) {
      const pair = JSON.parse(await readFile(join(data, name), 'utf8')) as Record<string, string>;
      if (pair['publicKey'] === wanted) return { privateKey: pair['privateKey']! };
    }
    throw new Error(`no key file has ${wanted}`);
  };

  const other = spawnUntilStopped('serve --port 0', { environment });
  const [, address = ''] = await other.waitFor(/^Deskbell listens on (http:\S+) /);
  const services = [(await serve([], { environment })).address, address];
  const worker = runUntilStopped('worker --json', { environment });
  await worker.waitFor(/"ready"/);

  await t.test('rotate, send, visit, send and retire lose nobody, and nothing is restarted', async () => {
    for (const service of services) assert.equal((await register(service, first)).status, 200);

    const second = await rotate();
    for (const service of services) {
      assert.equal(await offeredBy(service), second, 'all services offer the new key at once');
    }
    assert.deepEqual(await listed(), [
      { publicKey: first, state: 'previous', subscriptions: 2, hasKeyFile: true },
      { publicKey: second, state: 'current', subscriptions: 0, hasKeyFile: true },
    ]);
    assert.equal((await register(services[0]!, second)).status, 200);
    assert.equal((await register(services[1]!, first)).status, 200, 'a page that had the former key already');

    await outputOf(run(['send', '--all', '--detach', ...message]));
    const [, accepted] = await worker.waitFor(/"event":"summary".*"accepted":(\d+)/);
    assert.equal(accepted, '4', 'the worker has both pairs');
    for (const id of ['1', '3']) {
      await outputOf(run(['send', '--id', id, ...message]));
    }

    const refused = await run(['keys', 'retire', first]);
    assert.equal(refused.exitCode, 1);
    assert.match(refused.stderr, /3 subscriptions were made with the key .*ERR_KEY_IN_USE/);
    for (const id of ['1', '2', '4']) await outputOf(run(['subscriptions', 'remove', id]));
    const { privateKey } = await pairOf(first);
    const retired = await outputOf(run(['keys', 'retire', first.slice(0, 8)]));
    assert.equal(retired, `Retired ${first}.\n`);
    for (const name of await keyFiles()) {
      assert.ok(!(await readFile(join(data, name), 'utf8')).includes(privateKey));
    }

    const late = await register(services[0]!, first);
    assert.equal(late.status, 409);
    assert.equal(((await late.json()) as { vapidPublicKey: string }).vapidPublicKey, second);
    await outputOf(run(['send', '--all', ...message]));
    assert.deepEqual(await listed(), [
      { publicKey: second, state: 'current', subscriptions: 1, hasKeyFile: true },
    ]);
    assert.equal((await run('keys show')).stdout, `Public key:  ${second}\n`);
  });

  await t.test('retire --force gives subscriptions up, and says how many', async () => {
    const former = (await listed()).find(({ state }) => state === 'current')!;
    await rotate();
    const stdout = await outputOf(run(['keys', 'retire', former.publicKey, '--force']));
    assert.match(stdout, /^Retired B\S+\. 1 subscription cannot be sent to\.\n$/);
    assert.match((await run(['send', '--all', ...message])).stdout, /1 rejected/);
    assert.match((await run('keys list')).stdout, /^retired +1 +B/m);
  });

  await t.test(
    'retire refuses the current pair, an unknown one, and what does not name a single one',
    async () => {
      const { publicKey: current } = (await listed()).find(({ state }) => state === 'current')!;
      const { store, close } = await openDataDirectory(data);
      const namesake = current.slice(0, 12).padEnd(current.length, 'x');
      await store.vapidKeys.prepare(namesake);
      await store.vapidKeys.retire(namesake, { force: true });
      await close();
      for (const [words, expected] of [
        [[current, '--force'], /ERR_KEY_IN_USE/],
        [[`B${'x'.repeat(20)}`], /No key pair has a public key that begins with.*ERR_KEY_NOT_FOUND/],
        [[current.slice(0, 12)], /2 key pairs have a public key that begins with.*ERR_KEY_NOT_FOUND/],
        [['B'], /too short.*first 8 characters.*ERR_KEY_NOT_FOUND/],
      ] as const) {
        const { exitCode, stderr } = await run(['keys', 'retire', ...words]);
        assert.equal(exitCode, 1);
        assert.match(stderr, expected);
      }
    },
  );

  await t.test(
    'generate --force takes the place of every pair, and running services offer the new one',
    async () => {
      await rotate();
      const { stdout } = await run('keys generate --force --json');
      const { publicKey } = JSON.parse(stdout) as { publicKey: string };
      for (const service of services) assert.equal(await offeredBy(service), publicKey);
      assert.deepEqual(await keyFiles(), ['vapid-keys.json']);
    },
  );
});

// The private half of a former pair is gone while subscriptions need it: everybody who looks says so.

test('a missing key file that subscriptions need is told by doctor, keys list, worker, serve and /readyz', async () => {
  const { data, run, publicKey, ...made } = await newData();
  const environment = { ...made.environment, DESKBELL_SUBJECT: 'mailto:push@example.org' };
  const input = ['a', 'b'].map((name) => `${JSON.stringify(exampleSubscription(name))}\n`).join('');
  await outputOf(run('subscriptions import -', input));
  const [{ publicKey: current }] = parseLines((await run('keys rotate --json')).stdout);
  const keyFile = `vapid-keys-${publicKey.slice(0, 21)}.json`;
  const listKeys = async () => parseLines((await run('keys list --json')).stdout) as object[];
  const listed = (hasKeyFile: boolean) => [
    { publicKey, state: 'previous', subscriptions: 2, hasKeyFile },
    { publicKey: current, state: 'current', subscriptions: 0, hasKeyFile: true },
  ];
  const examineKeys = async () => {
    const { exitCode, stdout } = await run('doctor --json');
    return { exitCode, finding: parseLines(stdout).find(({ subject }) => subject === 'keys') };
  };
  assert.deepEqual(await listKeys(), listed(true));
  assert.equal((await examineKeys()).finding.status, 'ok');

  const aside = await temporaryFolder();
  await rename(join(data, keyFile), join(aside, keyFile));
  const says = new RegExp(
    `No key file in ${data} has the private half of the VAPID key ${publicKey} \\(previous, 2 subscriptions\\)`,
  );
  const { exitCode, finding } = await examineKeys();
  assert.equal(exitCode, 1);
  assert.equal(finding.status, 'fault');
  assert.match(finding.detail, says);
  assert.match(finding.cure, /^Put the key file back/);
  assert.deepEqual(await listKeys(), listed(false));
  const list = await run('keys list');
  assert.match(list.stdout, new RegExp(`^previous +2 {2}${publicKey} {2}no key file$`, 'm'));
  assert.match(list.stderr, says);

  // each list of alarms has it: of the command, of the API, and of the metrics of each process
  const [alarm] = parseLines((await run('alarms list --json')).stdout);
  assert.equal(alarm.kind, 'keys-missing');
  assert.match(alarm.remedy, says);
  const { token } = JSON.parse((await run('operators add shop --json')).stdout);
  const ask = (address: string, path: string) =>
    fetch(`${address}${path}`, { headers: { authorization: `Bearer ${token}` } });
  const hasMetric = async (address: string) =>
    assert.match(
      await (await ask(address, '/metrics')).text(),
      /^deskbell_alarms\{kind="keys-missing",rank="urgent",acknowledged="false"\} 1$/m,
    );

  const worker = runUntilStopped('worker --json --metrics 127.0.0.1:0', { environment });
  const [, metrics = ''] = await worker.waitFor(/"event":"ready",.*"metrics":"([^"]+)"/);
  assert.match(worker.written(), says);
  await hasMetric(metrics);
  const service = await serve('--operator 127.0.0.1:0', { environment });
  await service.waitFor(says);
  const [, operator = ''] = await service.waitFor(/^The operator’s listener is at (http:\S+)$/);
  await hasMetric(operator);
  const answer = (await (await ask(operator, '/v1/alarms')).json()) as { readonly items: unknown };
  assert.deepEqual(answer.items, [alarm]);
  const ready = await fetch(`${service.address}/readyz`);
  assert.deepEqual(
    [ready.status, await ready.json()],
    [200, { status: 'ready', warnings: ['keys-missing'] }],
  );
  await Promise.all([worker.end(), service.end()]);

  await rename(join(aside, keyFile), join(data, keyFile));
  const again = await serve([], { environment });
  assert.deepEqual(await (await fetch(`${again.address}/readyz`)).json(), { status: 'ready' });
  await again.end();
});

// Key pairs as openssl, py-vapid and other tools write them: taken whole, or refused with the reason and without the key.

const keysIn = (given: string | Uint8Array) => {
  const { publicKey, privateKey } = parseKeyPair(given);
  return { publicKey, privateKey };
};

/** Asserts that these keys are not taken, for this reason, which quotes none of the secrets. */
const refuses = (given: string, reason: RegExp, secrets: readonly string[]): void =>
  assert.throws(
    () => parseKeyPair(given),
    ({ code, message: words }: Error & { readonly code: string }) => {
      assert.equal(code, 'ERR_VAPID_KEY_INVALID');
      assert.match(words, reason);
      for (const secret of secrets) assert.ok(!words.includes(secret));
      return true;
    },
  );

const run = (input: string, ...words: readonly string[]): string =>
  execFileSync('openssl', words, { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] });

suite('keys in PEM', { skip: skipWithout('keys that openssl makes', [openssl]) }, () => {
  /** EC PARAMETERS, then EC PRIVATE KEY (SEC1). */
  const sec1 = run('', 'ecparam', '-name', 'prime256v1', '-genkey');
  const other = run('', 'ecparam', '-name', 'prime256v1', '-genkey');
  const {
    d: privateKey = '',
    x = '',
    y = '',
  } = createPrivateKey(sec1.replace(/^.*END EC PARAMETERS-----\n/s, '')).export({
    format: 'jwk',
  });
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  const pair = { publicKey: point.toString('base64url'), privateKey };
  const pkcs8 = run(sec1, 'pkcs8', '-topk8', '-nocrypt');
  const publicPem = run(sec1, 'ec', '-pubout');

  const taken: readonly (readonly [form: string, text: string])[] = [
    ['SEC1 after its parameters, as openssl ecparam prints it', sec1],
    ['SEC1 alone', run(sec1, 'ec')],
    ['SEC1 without its public half', run(sec1, 'ec', '-no_public')],
    ['PKCS#8, as py-vapid writes private_key.pem', pkcs8],
    ['PKCS#8 without its public half', run(run(sec1, 'ec', '-no_public'), 'pkcs8', '-topk8', '-nocrypt')],
    ['private and public key in one file', pkcs8 + publicPem],
    ['line ends of Windows', pkcs8.replaceAll('\n', '\r\n')],
    ['text before it', `Bag Attributes\n    friendlyName: push\n${pkcs8}`],
    ['PEM in JSON', JSON.stringify({ privateKey: pkcs8 })],
  ];
  for (const [form, text] of taken) {
    test(`${form} is taken`, () => assert.deepEqual(keysIn(text), pair));
  }

  const refused: readonly (readonly [form: string, text: string, reason: RegExp])[] = [
    [
      'an encrypted key in PKCS#8',
      run(sec1, 'pkcs8', '-topk8', '-passout', 'pass:secret'),
      /encrypted.*openssl pkey/,
    ],
    [
      'an encrypted key in SEC1',
      run(sec1, 'ec', '-aes128', '-passout', 'pass:secret'),
      /encrypted.*openssl pkey/,
    ],
    ['a public key alone', publicPem, /holds no private key/],
    ['two private keys', pkcs8 + other, /holds 2 private keys/],
    ["another pair's public key", pkcs8 + run(other, 'ec', '-pubout'), /public key.*does not belong/],
    ['another curve', run('', 'ecparam', '-name', 'secp384r1', '-genkey'), /curve secp384r1.*P-256/],
    ['an RSA key', run('', 'genpkey', '-algorithm', 'RSA'), /type rsa.*P-256/],
    ['an Ed25519 key', run('', 'genpkey', '-algorithm', 'ED25519'), /type ed25519.*P-256/],
    ['a key cut short', pkcs8.replace(/\n.{20}/, '\n'), /cannot be read/],
    ['a key without its end', pkcs8.replace('-----END PRIVATE KEY-----', ''), /holds no private key/],
  ];
  for (const [form, text, reason] of refused) {
    const secrets = text.split('\n').filter((line) => line.length > 30);
    test(`${form} is refused, with the reason and without the key`, () => refuses(text, reason, secrets));
  }

  test('a private key whose embedded public half is of another pair is refused', () => {
    const keys = [sec1, other].map((pem) => run(pem, 'ec', '-outform', 'PEM'));
    const [one = Buffer.alloc(0), two = Buffer.alloc(0)] = keys.map((pem) =>
      createPrivateKey(pem).export({ format: 'der', type: 'sec1' }),
    );
    // The public point ends the DER form.
    const mixed = Buffer.concat([one.subarray(0, -65), two.subarray(-65)]).toString('base64');
    refuses(
      `-----BEGIN EC PRIVATE KEY-----\n${mixed}\n-----END EC PRIVATE KEY-----\n`,
      /cannot be read|belong/,
      [mixed],
    );
  });
});

test('base64url in any text is taken, with bytes that begin with zeros too', () => {
  for (let index = 0; index < 20; index += 1) {
    const keys = generateVapidKeys();
    assert.deepEqual(keysIn(`PUBLIC=${keys.publicKey}\nPRIVATE="${keys.privateKey}"\n`), keys);
  }
});

suite('keys of other tools', () => {
  const { publicKey, privateKey } = generateVapidKeys();
  const [point, scalar] = [publicKey, privateKey].map((key) => Buffer.from(key, 'base64url')) as [
    Buffer,
    Buffer,
  ];
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
    d: privateKey,
  };
  const { d: _, ...publicJwk } = jwk;
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  const pem = key.export({ type: 'pkcs8', format: 'pem' }) as string;
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' });
  const secret = randomBytes(32).toString('base64');

  const taken: Readonly<Record<string, readonly [given: string | Uint8Array, found: RegExp]>> = {
    'standard base64, padded': [
      `${point.toString('base64')}\n${scalar.toString('base64')}`,
      /32 bytes in base64/,
    ],
    'standard base64, not padded': [
      `p: ${point.toString('base64').replaceAll('=', '')}, s: ${scalar.toString('base64').replaceAll('=', '')}`,
      /65 bytes in base64/,
    ],
    'a scalar of 33 bytes': [
      `${publicKey} ${Buffer.concat([Buffer.of(0), scalar]).toString('base64')}`,
      /33 bytes/,
    ],
    'hexadecimal digits': [
      `0x${point.toString('hex')}\n${scalar.toString('hex').toUpperCase()}`,
      /hexadecimal/,
    ],
    'a compressed point': [
      `${(ECDH.convertKey(point, 'prime256v1', undefined, undefined, 'compressed') as Buffer).toString('base64')}\n${privateKey}`,
      /33 bytes/,
    ],
    'a JWK': [JSON.stringify(jwk), /private key \(JWK\)/],
    'a JWK without its point': [
      JSON.stringify({ kty: 'EC', crv: 'P-256', d: privateKey }),
      /private key \(JWK\)/,
    ],
    'a set of JWKs': [JSON.stringify({ keys: [publicJwk, jwk] }), /and its public key \(JWK\)/],
    'a pair of JWKs': [JSON.stringify({ publicKey: publicJwk, privateKey: jwk }), /JWK/],
    'DER, PKCS #8': [pkcs8, /\(DER\)/],
    'DER, SEC 1': [key.export({ type: 'sec1', format: 'der' }), /\(DER\)/],
    'DER in base64': [pkcs8.toString('base64'), /DER in base64/],
    'PEM in one line': [pem.replaceAll('\n', ' '), /PEM/],
    'PEM with escaped line ends': [`KEY="${pem.replaceAll('\n', String.raw`\r\n`)}"`, /PEM/],
    'PEM with line ends of old Macs': [pem.replaceAll('\n', '\r'), /PEM/],
    'base64 of PEM': [`KEY=${Buffer.from(pem).toString('base64')}`, /PEM/],
    'base64 of PEM over several lines': [
      Buffer.from(pem).toString('base64').replaceAll(/.{64}/g, '$&\n'),
      /PEM/,
    ],
    'another secret of 32 bytes beside them': [`S=${secret}\nP=${publicKey}\nV=${privateKey}`, /32 bytes/],
  };
  for (const [form, [given, found]] of Object.entries(taken)) {
    test(`${form} is taken, and said`, () => {
      assert.deepEqual(keysIn(given), { publicKey, privateKey });
      assert.match(parseKeyPair(given).found, found);
    });
  }

  test('a scalar of 31 bytes is taken', () => {
    const ecdh = createECDH('prime256v1');
    const short = Buffer.concat([Buffer.of(1), randomBytes(30)]);
    ecdh.setPrivateKey(Buffer.concat([Buffer.of(0), short]));
    const text = `${ecdh.getPublicKey('base64url')}\n${short.toString('base64url')}`;
    assert.equal(
      Buffer.from(keysIn(text).privateKey, 'base64url').toString('hex'),
      `00${short.toString('hex')}`,
    );
  });

  const other = generateVapidKeys();
  const refused: Readonly<Record<string, readonly [given: string, reason: RegExp]>> = {
    'halves of two pairs': [
      `${other.publicKey} ${privateKey}`,
      /65 bytes in base64.*32 bytes in base64.*do not belong together/,
    ],
    'two pairs': [`${publicKey} ${privateKey} ${other.publicKey} ${other.privateKey}`, /2 key pairs/],
    'a private key alone, as bytes': [
      privateKey,
      /may be a private key \(32 bytes in base64\).*no public key/,
    ],
    'a public key alone': [publicKey, /public key \(65 bytes in base64\).*no private key/],
    'a JWK on another curve': [JSON.stringify({ ...jwk, crv: 'P-384' }), /JWK of type EC P-384.*P-256/],
    'no key': ['hello', /no private key and no public key/],
  };
  for (const [form, [given, reason]] of Object.entries(refused)) {
    test(`${form}: refused, with what there is`, () => refuses(given, reason, [publicKey, privateKey]));
  }
});
