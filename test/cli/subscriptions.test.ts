// `deskbell subscriptions`: rows go in and out as JSON Lines, and one bad line loses nothing else.
import assert from 'node:assert/strict';
import { createWriteStream } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { finished } from 'node:stream/promises';
import { exampleSubscription } from './example-subscriptions.ts';
import { newData, outputOf, parseLines, startCommand, temporaryFolder } from './run-command.ts';
import { pluck } from '../../tools/pluck.ts';

const jsonLines = (rows: readonly unknown[]): string =>
  rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** As `--json` prints them at the end. */
const counts = (given: {
  readonly imported: number;
  readonly refused: number;
  readonly updated?: number;
}) => ({
  updated: 0,
  leftOut: 0,
  factsLeftOut: {},
  ...given,
});

suite('deskbell subscriptions', { concurrency: true }, () => {
  test('of push services that nobody has listed, as many are imported as there may be', async () => {
    const { run } = await newData();
    const hosts = [
      'one.example.net',
      'two.example.net',
      'one.example.net',
      'listed.example.org',
      'nas.local',
    ];
    const rows = hosts.map((host, index) => ({
      ...exampleSubscription(index),
      endpoint: `https://${host}/up${index}?up=1`,
    }));
    const load = async (flags: string) =>
      parseLines((await run(`subscriptions import - --json ${flags}`, jsonLines(rows))).stdout);
    const [none] = (await load('--max-push-services 1')).slice(-1);
    assert.deepEqual(none, counts({ imported: 0, refused: 5 }));
    const [second, local, ended] = await load(
      '--max-push-services 1 --push-services public,https://listed.example.org',
    );
    assert.deepEqual(
      [second, local].map((fault) => [fault!['line'], (fault!['errors'] as { code: string }[])[0]!.code]),
      [
        [2, 'ERR_PUSH_SERVICE_LIMIT'],
        [5, 'ERR_ENDPOINT_HOST_REFUSED'],
      ],
    );
    assert.deepEqual(ended, counts({ imported: 3, refused: 2 }));
  });

  test('list shows neither endpoints nor keys', async () => {
    const { run } = await newData();
    const row = exampleSubscription('secret');
    await run('subscriptions import -', jsonLines([row]));
    for (const words of ['subscriptions list', 'subscriptions list --json']) {
      const stdout = await outputOf(run(words));
      assert.match(stdout, /https:\/\/updates\.push\.services\.mozilla\.com/);
      for (const secret of ['wpush', 'secret', row.keys.auth, row.keys.p256dh])
        assert.ok(!stdout.includes(secret));
    }
  });

  test('bad lines are reported by number and field, the others are stored, the exit code says so', async () => {
    const { run } = await newData();
    const good = [exampleSubscription(1), exampleSubscription(2), exampleSubscription(3)];
    const { endpoint, keys } = exampleSubscription(4);
    const input = [
      JSON.stringify(good[0]),
      '{"endpoint":',
      '',
      JSON.stringify({ endpoint, ...keys, auth: 'AAAA' }),
      `${JSON.stringify(good[1])}\r`,
      JSON.stringify({ endpoint: 'https://127.0.0.1/', keys }),
      '[]',
      'null',
      `"${'x'.repeat(1_100_000)}"`,
      JSON.stringify({ endpoint, keys, vapidPublicKey: 'AAAA' }),
      JSON.stringify(good[2]),
    ].join('\n');
    const { exitCode, stdout, stderr } = await run('subscriptions import - --json', input);
    assert.equal(exitCode, 1);
    assert.match(stderr, /^deskbell: Not valid and not imported: 6 lines\. .* \[ERR_LINES_REFUSED\]\n$/);
    const reports = parseLines(stdout);
    assert.deepEqual(reports.pop(), counts({ imported: 3, refused: 6 }));
    assert.deepEqual(
      reports.map(({ line, errors }) => [line, errors[0].pointer, errors[0].code]),
      [
        [2, '', 'ERR_JSON_MALFORMED'],
        [4, '/auth', 'ERR_SUBSCRIPTION_KEY_INVALID'],
        [6, '/endpoint', 'ERR_ENDPOINT_HOST_REFUSED'],
        [8, '', 'ERR_FIELD_TYPE'],
        [9, '', 'ERR_BODY_TOO_LARGE'],
        [10, '/vapidPublicKey', 'ERR_VAPID_KEY_INVALID'],
      ],
    );
    const plain = await run('subscriptions import -', input);
    assert.match(plain.stderr, /^line 2: .*\nline 4: \/auth: .*\n/);
    const listed = await run('subscriptions list --json');
    assert.equal(parseLines(listed.stdout).length, 3);
  });

  test('UTF-16 is read wherever a command reads a file; another encoding is refused with its place, or read as it is called', async () => {
    const { run } = await newData();
    const { endpoint, keys } = exampleSubscription(1);
    const table = `user,endpoint,p256dh,auth\nm\u00fcller,${endpoint},${keys.p256dh},${keys.auth}\n`;
    const file = join(await temporaryFolder(), 'file');
    const inUtf16 = Buffer.from(table, 'utf16le');
    const marked = Buffer.from(`\ufeff${table}`, 'utf16le');
    for (const bytes of [Buffer.from(`\ufeff${table}`), marked, inUtf16, Buffer.from(marked).swap16()]) {
      await writeFile(file, bytes);
      const { stdout, stderr } = await run(`subscriptions import ${file}`);
      assert.match(stdout, /^(Imported 1|Imported 0, updated 1), refused 0\.\n$/, stderr);
    }
    await writeFile(file, Buffer.from(table, 'latin1'));
    const refused = await run(`subscriptions import ${file}`);
    assert.match(
      refused.stderr,
      /file is not in UTF-8: line 2 has the byte 0xFC at position 28\. .*--encoding windows-1252.*\[ERR_FILE\]\n$/,
    );
    await outputOf(run(`subscriptions import --encoding windows-1252 ${file}`));
    assert.equal((await run(`subscriptions import --encoding no-such ${file}`)).exitCode, 2);
    const [row] = parseLines((await run('subscriptions export')).stdout);
    assert.equal(row.user, 'm\u00fcller');
    for (const words of [
      `subscriptions list --config ${file}`,
      `keys generate --import ${file}`,
      `send --all --json-message ${file}`,
      `send --file ${file} Hello --subject mailto:push@example.org`,
    ]) {
      assert.match(
        (await run(words)).stderr,
        /is not in UTF-8: line 2 has the byte 0xFC .*Save it as|save it as UTF-8/,
      );
    }
  });

  test('CSV is imported by the names of its columns, whatever separates them', async () => {
    for (const separator of [',', ';', '\t']) {
      const { run } = await newData();
      const [one, two] = [exampleSubscription(1), exampleSubscription(2)];
      const table = [
        ['id', 'user_id', 'Endpoint', 'public_key', 'auth_token', 'vapid_public_key', 'note'],
        ['1', '42', one.endpoint, one.keys.p256dh, one.keys.auth, '', `"two\nlines${separator} ""quoted"""`],
        ['2', '43', 'nonsense', two.keys.p256dh, two.keys.auth, '', ''],
        ['3', '43', `"${two.endpoint}"`, two.keys.p256dh, two.keys.auth, two.keys.p256dh, ''],
        ['4', '44'],
      ];
      const input = table.map((row) => `${row.join(separator)}\r\n`).join('');
      const { stdout } = await run('subscriptions import - --json', input);
      const reports = parseLines(stdout);
      assert.deepEqual(reports.pop(), counts({ imported: 2, refused: 2 }));
      assert.deepEqual(
        reports.map(({ line, errors }) => [line, errors[0].pointer]),
        [
          [3, '/Endpoint'],
          [5, '/endpoint'],
        ],
      );
      const exported = parseLines((await run('subscriptions export')).stdout);
      assert.deepEqual(
        exported.map(({ endpoint, keys }) => ({ endpoint, keys })),
        [one, two],
      );
      assert.equal(exported[1].vapidPublicKey, two.keys.p256dh);
    }
  });

  test('of rows that are not valid, each cause is said once, with the lines', async () => {
    const { run } = await newData();
    const load = async (input: string) => {
      const { stderr } = await run('subscriptions import -', input);
      return stderr.trimEnd().split('\n');
    };
    assert.deepEqual(await load('x\n'.repeat(21)), [
      'line 1: the line is not well-formed JSON, and the first line does not name the columns of a table [ERR_JSON_MALFORMED]',
      'The same as line 1 in 20 more lines: 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 …',
      'deskbell: Not valid and not imported: 21 lines. Fix the lines that were reported and import them again. [ERR_LINES_REFUSED]',
    ]);
    const rows = Array.from({ length: 22 }, (_, index) => ({ [`name${'x'.repeat(index)}`]: 1 }));
    const causes = await load(jsonLines([...rows, ...rows]));
    assert.match(causes[19]!, /^line 20: /);
    assert.match(causes[40]!, /^And 4 lines for other reasons; --refused keeps all of them\.$/);
  });

  test('where a row has no subscription, the error has the names that it looked for and those that are there', async () => {
    const { run } = await newData();
    const { endpoint, keys } = exampleSubscription('secret');
    const refusal = async (row: unknown) => {
      const { stdout, stderr } = await run('subscriptions import - --json', JSON.stringify([row]));
      for (const value of ['mozilla', keys.auth, keys.p256dh]) assert.ok(!(stdout + stderr).includes(value));
      return parseLines(stdout)[0].errors;
    };
    assert.deepEqual(await refusal({ userId: 42, device: { url: endpoint, ...keys }, [endpoint]: 1 }), [
      {
        pointer: '/endpoint',
        code: 'ERR_FIELD_MISSING',
        detail:
          'endpoint, p256dh, auth missing. Looked for endpoint, identifier, p256dh, keys.p256dh, key_p256dh, p256dh_key, ' +
          'public_key, user_public_key, ua_public, pushkey, web_p256, auth, keys.auth, key_auth, auth_key, auth_secret, ' +
          'auth_token, user_auth_token, web_auth, in the row and in its subscription, sub, push_subscription, subscription_info; ' +
          'the row has: userId, device (with url, p256dh, auth), 1 more.',
      },
    ]);
    const [{ pointer, detail }] = await refusal({ sub: { endpoint, keys: { p256dh: keys.p256dh } } });
    assert.equal(pointer, '/auth');
    assert.match(detail, /^auth missing\..*; the row has: sub \(with endpoint, keys\)\.$/);
    // A fault is where the row has it.
    const faults = await refusal({
      sub: { endpoint, keys: { ...keys, auth: 'AAAA' } },
      createdAt: 'yesterday',
    });
    assert.deepEqual(
      faults.map((fault: { pointer: string }) => fault.pointer),
      ['/sub/keys/auth'],
    );
    const [malformed] = await refusal({ subscription: `{"endpoint":"${endpoint}"` });
    assert.equal(malformed.pointer, '/subscription');
  });

  test('a table without a column of subscriptions is one error with the names of its columns', async () => {
    const { run } = await newData();
    const { endpoint, keys } = exampleSubscription('secret');
    const words = 'subscriptions import -';
    const named = await run(words, `id,url,p256dh\n1,${endpoint},${keys.p256dh}\n`);
    assert.equal(named.stdout, '');
    assert.match(
      named.stderr,
      /^deskbell: the table .* first line has: id, url, p256dh\. .*\[ERR_LINES_REFUSED\]\n$/,
    );
    // Without a line of names, the first one is a row, of which nothing is shown.
    const input = `1,${endpoint},${keys.p256dh},${keys.auth}\n`;
    const unnamed = await run(words, input);
    assert.match(unnamed.stderr, /the first line does not name the columns/);
    assert.ok(!unnamed.stderr.includes(keys.auth));
  });

  test('dates are kept for rows that are new, and one that is none is left out', async () => {
    const { run } = await newData();
    const given = [
      '2026-03-01',
      '2026-03-01 12:00:00.5+0200',
      1_772_323_200,
      '2999-01-01T00:00:00Z',
      '1.3.2026',
      '2026-02-30',
      '2026-02-30 12:00:00',
    ];
    const rows = given.map((created_at, index) => ({ ...exampleSubscription(index), created_at }));
    const before = Date.now();
    const words = 'subscriptions import - --json';
    const [ended] = parseLines((await run(words, jsonLines(rows))).stdout);
    assert.deepEqual(ended, { ...counts({ imported: 7, refused: 0 }), factsLeftOut: { dates: 3 } });
    const datesOf = async () =>
      parseLines((await run('subscriptions export')).stdout).map(({ createdAt }) => createdAt as string);
    const dates = await datesOf();
    assert.deepEqual(dates.slice(0, 3), [
      '2026-03-01T00:00:00.000Z',
      '2026-03-01T10:00:00.500Z',
      '2026-03-01T00:00:00.000Z',
    ]);
    const last = Date.parse(dates[3] ?? '');
    assert.ok(last >= before && last <= Date.now());
    await run(words, jsonLines([{ ...rows[0], created_at: '2020-01-01' }]));
    assert.deepEqual(await datesOf(), dates);
  });

  test('--refused keeps rows that are not valid, with the reasons, in a file for its owner only; each is a line to be imported again', async () => {
    const { data, run } = await newData();
    const file = join(data, 'refused.jsonl');
    const words = `subscriptions import - --refused ${file}`;
    const wrong = { userId: 45, subscription: { endpoint: 'http://a b/' } };
    const onManyLines = JSON.stringify(
      [[exampleSubscription(1), exampleSubscription(2)], wrong],
      undefined,
      2,
    );
    const { stdout } = await run(words, onManyLines);
    assert.equal(stdout, 'Imported 2, refused 1.\n');
    const [kept, ...others] = parseLines(await readFile(file, 'utf8'));
    assert.deepEqual([kept.line, JSON.parse(kept.text), others], [3, wrong, []], 'the third element');
    assert.ok(!kept.text.includes('\n'));
    assert.equal(kept.errors[0].pointer, '/subscription/endpoint');
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const again = await run('subscriptions import -', `${kept.text}\n`);
    assert.equal(again.stdout, 'Imported 0, refused 1.\n');
    assert.match(again.stderr, /endpoint/);
    assert.doesNotMatch(again.stderr, /JSON/);
    // a line is kept as it is, since JSON.parse would change this number
    const line = '{"userId": 12345678901234567890, "endpoint": "x"}';
    const ofLines = join(data, 'lines.jsonl');
    await run(`subscriptions import - --refused ${ofLines}`, `${line}\n`);
    assert.equal(parseLines(await readFile(ofLines, 'utf8'))[0].text, line);
    const replacing = await run(words, onManyLines);
    assert.match(replacing.stderr, /refused\.jsonl cannot be made.*\[ERR_FILE\]/);
    assert.equal(replacing.stdout, '');
  });

  test('expired rows and endpoints that a column may have cut off are named, and the former left out if that is asked for', async () => {
    const { run } = await newData();
    const cut = exampleSubscription('x'.repeat(255 - exampleSubscription('').endpoint.length));
    const rows = [
      { ...exampleSubscription(1), expirationTime: Date.now() - 1000 },
      { ...exampleSubscription(2), expirationTime: Date.now() + 1e9 },
      cut,
    ];
    const words = 'subscriptions import -';
    const skipped = await run(`${words} --skip-expired`, jsonLines(rows));
    assert.equal(skipped.stdout, 'Imported 2, refused 0, left out 1.\n');
    assert.deepEqual(skipped.stderr.split('\n'), [
      '1 × expired, left out: line 1',
      '1 × an endpoint of exactly 255 characters, which a column may have cut off: line 3',
      '',
    ]);
    const all = await run(words, jsonLines(rows));
    assert.equal(all.stdout, 'Imported 1, updated 2, refused 0.\n');
    assert.match(all.stderr, /^1 × expired; --skip-expired leaves them out: line 1\n/);
    const { stdout } = await run('subscriptions visits --json');
    const nobody = { within7Days: 0, within30Days: 0, within90Days: 0, longerAgo: 0 };
    assert.deepEqual(parseLines(stdout), [
      { pushService: 'https://updates.push.services.mozilla.com', ...nobody, notSinceImport: 3 },
    ]);
  });

  test('a file of another service is refused once, with what happens instead', async () => {
    const { run } = await newData();
    const words = 'subscriptions import -';
    const { endpoint, keys } = exampleSubscription(1);
    const line = `7,${endpoint},${keys.auth},${keys.p256dh}\n`;
    const input = `player_id,identifier,web_auth,web_p256\n${line}${line}`;
    const [first, same, , ...others] = (await run(words, input)).stderr.split('\n');
    assert.match(first!, /^line 2: .*OneSignal.*at each reader's next visit/);
    assert.match(same!, /^The same as line 2 in 1 more line: 3$/);
    assert.deepEqual(others, ['']);
    const tokens = await run(words, 'user,fcm_token\n1,x\n2,y\n');
    assert.match(
      tokens.stderr,
      /^deskbell: these are registration tokens of Firebase.*\[ERR_LINES_REFUSED\]\n$/,
    );
  });

  test('remove forgets rows by id and names those that are not there', async () => {
    const { run } = await newData();
    const input = jsonLines([exampleSubscription(1), exampleSubscription(2), exampleSubscription(3)]);
    await run('subscriptions import -', input);
    const removed = await run('subscriptions remove 3 9 1 --json');
    assert.equal(removed.exitCode, 1);
    assert.match(removed.stderr, /no subscription 9.*ERR_SUBSCRIPTION_NOT_FOUND/);
    assert.deepEqual(parseLines(removed.stdout), [
      { id: 3, removed: true },
      { id: 9, removed: false },
      { id: 1, removed: true },
    ]);
    const { stdout } = await run('subscriptions list --json');
    assert.deepEqual(pluck(parseLines(stdout), 'id'), [2]);
    await outputOf(run('subscriptions remove 2'));
    assert.equal((await run('subscriptions remove 0')).exitCode, 2);
    const ofHost = (host: string) => run(`subscriptions remove --push-service ${host} --json`);
    await run('subscriptions import -', input);
    const { host, origin } = new URL(exampleSubscription(1).endpoint);
    assert.deepEqual(JSON.parse((await ofHost(host)).stdout), { pushService: origin, removed: 3 });
    assert.deepEqual(JSON.parse((await ofHost(origin)).stdout), { pushService: origin, removed: 0 });
    for (const wrong of ['', 'a/b', 'https://a/x']) assert.equal((await ofHost(wrong)).exitCode, 2);
    const [last] = parseLines((await run('audit --json')).stdout);
    assert.deepEqual([last.action, last.target], ['push-service.remove', `push service ${origin}`]);
  });

  test('5,000 rows go through, in the order of the file', async () => {
    const { run } = await newData();
    const count = 5000;
    const file = join(await temporaryFolder(), 'many.jsonl');
    const writer = createWriteStream(file);
    for (let number = 1; number <= count; number += 1)
      writer.write(
        `${JSON.stringify({ ...exampleSubscription(number), user: number <= 1001 ? 'ada' : undefined })}\n`,
      );
    writer.end();
    await finished(writer);
    const imported = await run(`subscriptions import ${file}`);
    assert.equal(imported.stdout, `Imported ${count}, refused 0.\n`);
    const { stdout } = await run('subscriptions export');
    const names = parseLines(stdout).map(({ endpoint }) => Number((endpoint as string).split('-').at(-1)));
    assert.deepEqual(
      names,
      Array.from({ length: count }, (_, index) => index + 1),
    );
    const tagged = await run('subscriptions tag de --user ada --json');
    assert.deepEqual(parseLines(tagged.stdout), [{ subscriptions: 1001 }]);
  });

  test('an import that is interrupted keeps what it has read and says that it can be run again', async () => {
    const { data, run } = await newData();
    const child = startCommand(['subscriptions', 'import', '-', '--data', data]);
    let complaints = '';
    child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
    child.stdin.write(`nonsense\n${jsonLines([exampleSubscription(1), exampleSubscription(2)])}`);
    // The report of the first line shows that reading has begun; the input stays open.
    await new Promise((resolve) => child.stderr.once('data', resolve));
    child.kill('SIGINT');
    const exitCode = await new Promise((resolve) => child.once('close', resolve));
    assert.equal(exitCode, 1);
    assert.match(complaints, /Interrupted by SIGINT.*ERR_INTERRUPTED/);
    const { stdout } = await run('subscriptions list --json');
    assert.equal(parseLines(stdout).length, 2);
  });

  test('a file or a database that cannot be used is a clear fault', async () => {
    const { data, run } = await newData();
    const missing = await run(`subscriptions import ${data}/none.jsonl`);
    assert.match(missing.stderr, /none\.jsonl cannot be read: no such file or directory.*ERR_FILE/);
    assert.equal(missing.stdout, '');
    const folder = await run(`subscriptions import ${data}`);
    assert.match(folder.stderr, /cannot be read: it is a directory.*ERR_FILE/);
    await writeFile(join(data, 'deskbell.db'), 'this is not a database, however long it is '.repeat(200));
    const { exitCode, stderr } = await run('subscriptions list');
    assert.equal(exitCode, 1);
    assert.match(stderr, /^deskbell: .*ERR_STORE_CORRUPT\]\n$/);
  });
});
