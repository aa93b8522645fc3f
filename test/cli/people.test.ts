// Users and tags from the command line: they come in and go out with subscriptions, are changed, listed by, and a person is
// removed.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { decodeQR } from 'qr/decode.js';
import { curl, skipWithout } from '../../scripts/install-test-tools.ts';
import { drawQrCode } from '../../src/cli/commands/invite.ts';
import { formatRemoved } from '../../src/cli/commands/subscriptions.ts';
import { audited, createPersonHash } from '../../src/cli/data/data-command.ts';
import { loadOrCreateSecret } from '../../src/keys/secret-files.ts';
import { newSubscription, sendJson } from '../service/running-service.ts';
import { nothingRemoved } from '../store/made-up-subscription.ts';
import { openTestStore } from '../store/test-database.ts';
import { exampleSubscription } from './example-subscriptions.ts';
import {
  commandsIn,
  newData,
  outputOf,
  parseLines,
  type Run,
  runCommand,
  runUntilStopped,
  serve,
  temporaryFolder,
  type Words,
} from './run-command.ts';

const lines = (rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const exportRows = async (run: Run) => parseLines((await run('subscriptions export')).stdout);
const ownersOf = (rows: Awaited<ReturnType<typeof exportRows>>) =>
  rows.map(({ user, tags }) => ({ user, tags }));
const exportOwners = async (run: Run) => ownersOf(await exportRows(run));

const factsOf = async (run: Run) =>
  (await exportRows(run)).map(({ language, timeZone, channels }) => ({ language, timeZone, channels }));

suite('deskbell subscriptions with people', { concurrency: true }, () => {
  test('what is exported can be imported elsewhere and is the same; a row without user and tags changes neither', async () => {
    const [{ run: from }, { run: to }] = [await newData(), await newData()];
    const plain = ['+%2B', 2, 3, 4].map(exampleSubscription);
    const owners = [{ user: '42', tags: ['de', 'beta'] }, { user: 43 }, { tags: 'news; de' }, {}];
    await from('subscriptions import -', lines(plain.map((row, index) => ({ ...row, ...owners[index] }))));
    const exported = await exportRows(from);
    assert.deepEqual(
      exported.map(({ endpoint, keys }) => ({ endpoint, keys })),
      plain,
    );
    assert.deepEqual(ownersOf(exported), [
      { user: '42', tags: ['beta', 'de'] },
      { user: '43', tags: undefined },
      { user: undefined, tags: ['de', 'news'] },
      { user: undefined, tags: undefined },
    ]);
    await to('subscriptions import -', lines(exported));
    const withoutStoresOwn = (rows: typeof exported) => rows.map((row) => ({ ...row, id: 0, updatedAt: '' }));
    assert.deepEqual(withoutStoresOwn(await exportRows(to)), withoutStoresOwn(exported));
    await to('subscriptions import -', lines(plain));
    assert.deepEqual(await exportOwners(to), ownersOf(exported));
  });

  test('a row with a user or tags replaces both, and an empty array of tags is such a row', async () => {
    const { run } = await newData();
    const owned = { ...exampleSubscription(1), user: '42', tags: ['beta'] };
    const after = async (change: object) => {
      const rows = [owned, { ...exampleSubscription(1), ...change }];
      await run('subscriptions import -', lines(rows));
      return exportOwners(run);
    };
    const nobody = { user: undefined, tags: undefined };
    assert.deepEqual(await after({ user: '43' }), [{ ...nobody, user: '43' }]);
    assert.deepEqual(await after({ tags: ['news'] }), [{ ...nobody, tags: ['news'] }]);
    assert.deepEqual(await after({ tags: [] }), [nobody]);
    assert.deepEqual(await after({ user: '', tags: null }), [{ user: '42', tags: ['beta'] }]);
  });

  test('an import that finds no user or tags where they were to be says so, and what the rows have', async () => {
    const { run } = await newData();
    const rows = [
      { userAgent: 'x', userId: 42, topics: ['de'], subscription: exampleSubscription(1) },
      { userAgent: 'y', subscription: exampleSubscription(2) },
    ];
    const hint = async (...flags: string[]) =>
      (await run(['subscriptions', 'import', '-', ...flags], JSON.stringify(rows))).stderr;
    assert.equal(
      await hint(),
      'No row has a user in "user". If "userId" holds it, import again with --user-column userId.\n',
    );
    assert.equal(
      await hint('--user-column', 'member', '--tags-column', 'topics'),
      'No row has anything in "member". The first one has: userAgent, userId, topics, subscription (with endpoint, keys).\n',
    );
    assert.equal(await hint('--user-column', 'user_id'), '');
  });

  test('rows with a user that is not valid are refused; tags, a language, a time zone or choices that are not understood are left out, and counted', async () => {
    const { run } = await newData();
    const rows = [
      { member: 'x'.repeat(129) },
      { member: { id: 42 } },
      { member: 42.5 },
      { member: '42', tags: ['a b'] },
      { member: '42', tags: 7 },
      { member: '42', language: 'English language' },
      { timeZone: '+01:00' },
      { channels: 'news' },
      { channels: { news: 1 } },
    ].map((row, index) => ({ ...exampleSubscription(index), ...row }));
    const words = ['subscriptions', 'import', '-', '--user-column', 'member'];
    const reports = parseLines((await run([...words, '--json'], lines(rows))).stdout);
    const factsLeftOut = { tags: 2, languages: 1, 'time zones': 1, 'choices of channels': 2 };
    assert.deepEqual(reports.pop(), { imported: 6, updated: 0, refused: 3, leftOut: 0, factsLeftOut });
    assert.deepEqual(
      reports.map(({ errors: [{ pointer, code }] }) => `${pointer} ${code}`),
      ['/member ERR_FIELD_VALUE', '/member ERR_FIELD_TYPE', '/member ERR_FIELD_VALUE'],
    );
    const { stderr } = await run(words, lines(rows));
    assert.deepEqual(stderr.match(/^.* × .*$/gm), [
      '2 × tags not understood, left out: a b …',
      '1 × languages not understood, left out: English language',
      '1 × time zones not understood, left out: +01:00',
      '2 × choices of channels not understood, left out',
    ]);
    const ignoring = await run([...words, '--ignore-column', 'Channels'], lines(rows));
    assert.doesNotMatch(ignoring.stderr, /channels/);
  });

  test('tags are added and taken away, by person, tag and ID, and list shows whom they choose', async () => {
    const { run } = await newData();
    const rows = ['42', '42', '43'].map((user, index) => ({ ...exampleSubscription(index), user }));
    await run('subscriptions import -', lines(rows));
    const change = async (...words: string[]) =>
      parseLines((await run(['subscriptions', ...words, '--json'])).stdout)[0].subscriptions;
    const list = async (...words: string[]) =>
      parseLines((await run(['subscriptions', 'list', '--json', ...words])).stdout).map(({ id }) => id);
    assert.equal(await change('tag', 'beta,de', '--user', '42'), 2);
    assert.equal(await change('tag', 'de', '--ids', '3,99'), 1);
    assert.equal(await change('tag', 'news', '--ids', '2,3'), 2);
    assert.deepEqual(await list('--tag', 'de'), [1, 2, 3]);
    assert.deepEqual(await list('--tag', 'de', '--tag', 'beta'), [1, 2]);
    assert.deepEqual(await list('--any-tag', 'news', '--any-tag', 'beta'), [1, 2, 3]);
    assert.deepEqual(await list('--tag', 'de', '--not-tag', 'beta'), [3]);
    assert.equal(await change('untag', 'beta', '--tag', 'beta'), 2);
    assert.equal(await change('untag', 'de', '--user', '42', '--any-tag', 'de'), 2);
    assert.equal(await change('untag', 'news', '--ids', '3'), 1);
    assert.deepEqual(await list('--tag', 'de'), [3]);
    assert.deepEqual(await list('--user', '42'), [1, 2]);
    assert.deepEqual(await list('--any-tag', 'news', '--any-tag', 'de', '--not-tag', 'de'), [2]);

    const { stdout } = await run('subscriptions list --user 43');
    assert.match(stdout, /USER +TAGS\n +3 .*mozilla\.com +43 +de\n$/);
    assert.match((await run('subscriptions list --user x')).stderr, /No such subscriptions/);
    for (const [words, error] of [
      [['tag', 'de', '--user', 'x'], /ERR_SUBSCRIPTION_NOT_FOUND/],
      [['tag', 'de'], /Choose the subscriptions.*ERR_USAGE/],
      [['tag', 'a b', '--user', '42'], /A tag must be/],
      [['untag', 'de', '--user', '42', '--ids', '1'], /cannot be used with/],
    ] as const) {
      const failed = await run(['subscriptions', ...words]);
      assert.notEqual(failed.exitCode, 0);
      assert.match(failed.stderr, error);
    }
    const [last, removal] = parseLines((await run('audit --json')).stdout).map(({ action, target }) => [
      action,
      target,
    ]);
    assert.deepEqual(
      [last, removal],
      [
        ['subscriptions.tag', 'tags de'],
        ['subscriptions.untag', 'tags news'],
      ],
    );
  });

  test('a person is removed, and what was removed is told', async () => {
    const { run } = await newData();
    const rows = ['42', '42', '43'].map((user, index) => ({ ...exampleSubscription(index), user }));
    await run('subscriptions import -', lines(rows));
    const { stdout } = await run('subscriptions remove --user 42 --json');
    const told = parseLines(stdout);
    const { removalReceipt } = told[0];
    assert.deepEqual(told, [{ removalReceipt, user: '42', ...nothingRemoved, subscriptions: 2 }]);
    assert.deepEqual(await exportOwners(run), [{ user: '43', tags: undefined }]);
    const again = await run('subscriptions remove --user 42');
    assert.match(again.stdout, /^Removed:\n +0 {2}subscriptions\n(?: +0 {2}.+\n){7}Backups of the database/);
    const [, receipt = ''] = /^Receipt: ([\w-]{22})\. Keep it/m.exec(again.stdout)!;
    const check = (user: string, given: string) => run(['people', 'removal', user, '--receipt', given]);
    assert.match(
      (await check('42', receipt)).stdout,
      /^Removed at \S+ by \S+; 0 subscriptions of theirs are stored now\.\n$/,
    );
    assert.match((await check('43', receipt)).stderr, /not of this person/);
    assert.equal((await check('42', 'x'.repeat(22))).exitCode, 1);
    const counts = { subscriptions: 1, ended: 2, attempts: 3, receipts: 4, recipients: 5, broadcasts: 6 };
    assert.deepEqual(
      formatRemoved({ ...counts, schedules: 7, bells: 8 })
        .split('\n')
        .slice(1, -1),
      [
        '       1  subscription',
        '       2  subscriptions that had ended',
        '       3  attempts',
        '       4  receipts',
        '       5  places in lists of recipients',
        '       6  broadcasts to this person alone',
        '       7  schedules for this person alone',
        '       8  bells for this person alone',
      ],
    );
    for (const words of [['--user', '42', '3'], []]) {
      assert.match((await run(['subscriptions', 'remove', ...words])).stderr, /ERR_USAGE/);
    }
    const nobody = await run(['subscriptions', 'remove', '--user', 'a\nb']);
    assert.match(nobody.stderr, /without control characters.*ERR_FIELD_VALUE/);
  });

  test('channels are made and removed, and a person’s choices and data are set and shown', async () => {
    const { run } = await newData();
    const print = (words: Words) => outputOf(run(words));
    const fail = async (words: Words) => (await run(words)).stderr;
    assert.match(await fail('channels set news'), /There is no channel "news" yet; give it a title/);
    await print('channels set news --title News --title-in DE=Neues');
    await print('channels set offers --title Offers --default off');
    await print('channels set news --title-in de=Nachrichten --title-in fr=Actualités');
    assert.equal(
      await print('channels list'),
      'news  on by default  “News”  de “Nachrichten”  fr “Actualités”\noffers  off by default  “Offers”\n',
    );
    const [news, offers] = parseLines(await print('channels list --json'));
    assert.deepEqual(news, {
      name: 'news',
      title: 'News',
      titles: { de: 'Nachrichten', fr: 'Actualités' },
      isOnByDefault: true,
    });
    assert.deepEqual(offers, { name: 'offers', title: 'Offers', titles: {}, isOnByDefault: false });
    // what is not given stays, and an empty title goes
    await print('channels set offers --title-in fr=Offres');
    const both = 'offers  off by default  “Offers”  fr “Offres”  de “Angebote”\n';
    assert.equal(await print('channels set offers --title-in de=Angebote'), both);
    const one = 'offers  off by default  “Offers”  de “Angebote”\n';
    assert.equal(await print('channels set offers --title-in fr='), one);
    await print(['channels', 'set', 'caf\u00e9', '--title', 'Café', '--default', 'off']);
    assert.match(await print(['channels', 'set', 'cafe\u0301', '--title', 'Bar']), /off by default {2}“Bar”/);
    await print(['channels', 'remove', 'cafe\u0301']);
    await print(['people', 'set', '42', '--values', '{"name": "Ada", "points": 3}', '--language', 'DE']);
    await print(['people', 'set', '42', '--values', '{"points": null}', '--channel', 'news=off']);
    assert.equal(
      await print('people show 42'),
      'Person 42\n' +
        '  data       {"name":"Ada"}\n' +
        '  language   de\n' +
        '  time zone  that of each browser\n' +
        '  news: off, chosen\n' +
        '  offers: off, by default\n',
    );
    await print('channels set offers --default on');
    assert.match(await print('people show 42'), /^ {2}offers: on, by default$/m);
    await print('people set 42 --channel news=on --channel offers=off');
    assert.match(await print('people show 42'), /^ {2}news: on, chosen\n {2}offers: off, chosen$/m);
    await print('people set 42 --channel offers=default --timezone Europe/Berlin');
    assert.match(await print('people show 42'), /^ {2}time zone {2}Europe\/Berlin$/m);
    const [person] = parseLines(
      await print('people set 42 --timezone= --language= --channel news=default --json'),
    );
    assert.deepEqual(person, { user: '42', data: { name: 'Ada' }, channels: {} });
    assert.deepEqual(parseLines(await print('people show 42 --json')), [person]);
    assert.match(await fail('people set 42 --channel nwes=on'), /There is no channel "nwes"; there are/);
    assert.match(await fail('people set 42 --channel news'), /news=off.*ERR_USAGE/);
    for (const values of ['Ada', '[]', 'null']) {
      assert.match(
        await fail(['people', 'set', '42', '--values', values]),
        /It must be a JSON object.*ERR_USAGE/,
      );
    }
    assert.match(await fail('people set 42 --timezone Berlin'), /such as Europe\/Berlin.*ERR_FIELD_VALUE/);
    assert.deepEqual(parseLines(await print('channels remove offers --json')), [
      { name: 'offers', removed: true },
    ]);
    assert.match(await fail('channels remove offers'), /ERR_CHANNEL_NOT_FOUND/);
  });

  test('export and import carry language, time zone and choices; an import overrides no choice', async () => {
    const [{ run: from }, { run: to }] = [await newData(), await newData()];
    const table =
      'endpoint,p256dh,auth,user,language,time_zone,channels\n' +
      [1, 2]
        .map(exampleSubscription)
        .map(({ endpoint, keys }, index) =>
          index === 0
            ? `${endpoint},${keys.p256dh},${keys.auth},42,pt-br,Europe/Berlin,"{""news"": true, ""offers"": true}"\n`
            : `${endpoint},${keys.p256dh},${keys.auth},,,,\n`,
        )
        .join('');
    for (const run of [from, to]) await run('channels set news --title News');
    await from('subscriptions import -', table);
    const own = { language: 'pt-BR', timeZone: 'Europe/Berlin', channels: { news: true, offers: true } };
    const nothing = { language: undefined, timeZone: undefined, channels: undefined };
    assert.deepEqual(await factsOf(from), [own, nothing]);
    // what the person has chosen goes along
    const data = ['--values', '{"name": "Ada"}'];
    const chosen = ['--language', 'de', '--timezone', 'Asia/Tokyo', '--channel', 'news=off'];
    await from(['people', 'set', '42', ...chosen, ...data]);
    assert.doesNotMatch((await from('subscriptions export')).stdout, /Ada/);
    const held = { language: 'de', timeZone: 'Asia/Tokyo', channels: { news: false, offers: true } };
    assert.deepEqual(await factsOf(from), [held, nothing]);
    await to('subscriptions import -', (await from('subscriptions export')).stdout);
    assert.deepEqual(await factsOf(to), [held, nothing]);
    await to('subscriptions import -', table);
    assert.deepEqual(await factsOf(to), [{ ...held, language: 'pt-BR', timeZone: 'Europe/Berlin' }, nothing]);
    await from('subscriptions import -', table);
    assert.deepEqual(await factsOf(from), [held, nothing], 'the person’s choice holds');
  });
});

// `deskbell operators` beside a listener that runs: a token works once it is added, and no longer once it is removed.

test('deskbell operators beside serve --operator', async (t) => {
  const environment = { DESKBELL_DATA: await temporaryFolder(), DESKBELL_SUBJECT: 'mailto:you@example.org' };
  const run = commandsIn(environment);
  const serving = runUntilStopped('serve --port 0 --operator 127.0.0.1:0', { environment });
  const [, publicAddress = ''] = await serving.waitFor(/^Deskbell listens on (http:\S+) /);
  const [, address = ''] = await serving.waitFor(/^The operator’s listener is at (http:\S+)$/);
  const ask = (token: string, base = address): Promise<Response> =>
    fetch(`${base}/v1/keys`, { headers: { authorization: `Bearer ${token}` } });

  await t.test('a token is printed once, and only its hash is stored', async () => {
    const { stdout, exitCode } = await run('operators add shop');
    assert.equal(exitCode, 0);
    assert.match(stdout, /^deskbell_op_[\w-]{43}\n$/);
    const token = stdout.trim();
    assert.equal((await ask(token)).status, 200);
    assert.equal((await ask(token, publicAddress)).status, 404);
    const folder = environment.DESKBELL_DATA;
    const secret = Buffer.from(token.slice('deskbell_op_'.length), 'base64url');
    for (const name of readdirSync(folder)) {
      const content = readFileSync(join(folder, name));
      assert(!content.includes(token) && !content.includes(secret), name);
    }
    const listed = await run('operators list --json');
    assert.match(listed.stdout, /^\{"name":"shop","role":"full","createdAt":"[^"]+"\}\n$/);
    const again = await run('operators add shop');
    assert.equal(again.exitCode, 1);
    assert.match(again.stderr, /\[ERR_OPERATOR_EXISTS\]\n$/);
    const schedule = { audience: 'all', message: { title: 'Tea', message: 'is ready' } };
    const times = { cron: '0 9 * * *', timezone: 'UTC' };
    const authorization = `Bearer ${token}`;
    const made = await sendJson(
      address,
      'POST',
      '/v1/schedules',
      { ...schedule, ...times },
      { authorization },
    );
    assert.equal(made.status, 201, await made.text());
    assert.equal(
      (await run('operators remove shop')).stdout,
      'Removed shop\nIts schedules 1 go on; "deskbell schedules pause" pauses each\n',
    );
    assert.equal((await ask(token)).status, 401);
    assert.match((await run('operators remove shop')).stderr, /\[ERR_OPERATOR_NOT_FOUND\]\n$/);
    const rest = await run('operators remove shop --pause');
    assert.equal(rest.stdout, 'Removed shop\nIts schedules 1 are paused\n', 'that went on after the removal');
    const nothing = await run('operators remove shop --pause');
    assert.match(nothing.stderr, /\[ERR_OPERATOR_NOT_FOUND\]\n$/);
  });

  await t.test('roles and names', async () => {
    for (const [flag, role] of [
      ['--read-only', 'read'],
      ['--send', 'send'],
      ['--metrics', 'metrics'],
    ] as const) {
      const { stdout } = await run(['operators', 'add', role, flag, '--json']);
      const { token, ...rest } = JSON.parse(stdout) as { readonly token: string };
      assert.deepEqual(rest, { name: role, role });
      assert.equal((await ask(token)).status, role === 'read' ? 200 : 403);
    }
    const listed = await run('operators list');
    assert.match(listed.stdout, /^metrics {2}\S+Z {2}metrics\nread {5}\S+Z {2}read\nsend {5}\S+Z {2}send\n$/);
    const words = ['--operator', '127.0.0.1:9', '--operator-cert', 'cert.pem'];
    const encrypted = await run(['operators', 'add', 'encrypted', ...words]);
    assert.match(encrypted.stderr, /'https:\/\/127\.0\.0\.1:9\/v1\/messages/);
    assert.equal((await run(['operators', 'add', 'a b'])).exitCode, 2);
    assert.equal((await run('operators add both --metrics --read-only')).exitCode, 2);
    assert.equal((await run('operators add both --metrics --send')).exitCode, 2);
    assert.equal((await run('operators add both --send --read-only')).exitCode, 2);
  });

  await t.test(
    'the line that is printed with a token sends, for whoever has curl',
    { skip: skipWithout('the line for curl', [curl]) },
    async () => {
      // the address is that which serve listens on
      const { stdout, stderr } = await run('operators add backup --send');
      const [, line] = stderr.trimEnd().split('\n');
      assert.equal(
        line?.trim(),
        `curl --fail-with-body --retry 5 --retry-connrefused -H "Authorization: Bearer ${stdout.trim()}" -H "content-type: text/plain" -d "Backups are done" '${address}/v1/messages?user=me'`,
      );
      // nobody is subscribed yet
      assert.match(
        (await promisify(execFile)('sh', ['-c', `! ${line} -sS 2>/dev/null`])).stdout,
        /"code":"ERR_SUBSCRIPTION_NOT_FOUND"/,
      );
      const given = await run('operators add given --send --operator 127.0.0.1:9');
      assert.match(given.stderr, /'http:\/\/127\.0\.0\.1:9\/v1\/messages/);
      const elsewhere = await run('operators add other --send --json');
      assert.equal(elsewhere.stderr, '');
    },
  );

  await t.test('what operators changed is listed, and no command is', async () => {
    const { stdout } = await run('operators add editor');
    const headers = { authorization: `Bearer ${stdout.trim()}` };
    const person = await sendJson(address, 'PATCH', '/v1/people/ada', { language: 'de' }, headers);
    assert.equal(person.status, 200);
    const hashPerson = createPersonHash(await loadOrCreateSecret(environment.DESKBELL_DATA, 'session-key'));
    const changed = await run('audit --action person.update --json');
    assert.match(changed.stdout, new RegExp(`"target":"user ${hashPerson('ada')}"`));
    for (const path of ['broadcasts/9/pause', 'schedules/9/pause']) {
      assert.equal((await fetch(`${address}/v1/${path}`, { method: 'POST', headers })).status, 404);
    }
    const listed = (await run('audit')).stdout.split('\n');
    assert.match(listed[0] ?? '', /^AT +OPERATOR +ACTION +STATUS {2}TARGET$/);
    assert.match(listed[1] ?? '', /^\S+Z {2}editor +schedule\.pause +404 +schedule 9$/);
    const found = await run('audit --operator editor --action broadcast.pause --json');
    assert.match(found.stdout, /^\{"at":"[^"]+Z","id":\d+,.*"target":"broadcast 9","status":404\}\n$/);
    assert.equal((await run('audit --operator nobody')).stderr, 'No such changes.\n');
    assert.equal((await run('audit --since 2100-01-01T00:00Z --json')).stdout, '');
    assert.equal((await run('audit --since yesterday')).exitCode, 2);
    assert.equal((await run('audit --limit 1 --json')).stdout.split('\n').length, 2);
  });

  await t.test('it does not start where its tokens would travel unencrypted', async () => {
    const { exitCode, stderr } = await run('serve --port 0 --operator 0.0.0.0:0');
    assert.equal(exitCode, 2);
    assert.match(stderr, /\[ERR_CONFIGURATION\]\n$/);
    const files = ['--operator-cert', 'no', '--operator-key', 'no'];
    const missing = await run(['serve', '--port', '0', '--operator', '127.0.0.1:0', ...files]);
    assert.match(missing.stderr, /\[ERR_FILE\]\n$/);
    const none = ['--operator-cert', 'package.json', '--operator-key', 'package.json'];
    const wrong = await run(['serve', '--port', '0', '--operator', '127.0.0.1:0', ...none]);
    assert.match(wrong.stderr, /package\.json are not a certificate and its private key, both in PEM/);
  });

  assert.equal(await serving.end('SIGTERM'), 0);
  assert.doesNotMatch(serving.written(), /"event":"worker"|worker started/, 'it does not deliver');
});

test('deskbell operators add before anything else creates the data directory, and says so', async () => {
  const data = join(await temporaryFolder(), 'new');
  const { stdout, stderr, exitCode } = await runCommand(['operators', 'add', 'shop', '--data', data]);
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^deskbell_op_/);
  assert.equal(stderr.split('\n')[0], `Created the data directory ${data}.`);
  const again = await runCommand(['operators', 'add', 'ada', '--data', data, '--read-only']);
  assert.equal(again.stderr, '');
  const missing = await runCommand(['operators', 'list', '--data', `${data}er`]);
  assert.match(missing.stderr, /\[ERR_DATA_MISSING\]/);
});

test('the hash of a person needs the key, and is the same for the same person', () => {
  const [one, other] = [createPersonHash(Buffer.alloc(32, 1)), createPersonHash(Buffer.alloc(32, 2))];
  assert.match(one('ada'), /^[\w-]{22}$/);
  assert.equal(one('ada'), one('ada'));
  assert.notEqual(one('ada'), one('bob'));
  assert.notEqual(one('ada'), other('ada'));
});

test('a change whose audit record cannot be completed succeeds or fails as it would have', async (t) => {
  const { store, remove } = await openTestStore();
  t.after(remove);
  const change = { operator: 'ann', action: 'channel.remove' };
  const records = await Promise.all([store.audit.begin(change), store.audit.begin(change)]);
  const ofRecord = (id: number) => ({ ...store, audit: { ...store.audit, begin: async () => id } });
  await store.close();
  assert.equal(await audited(ofRecord(records[0]), change, async () => 7), 7);
  const failing = audited(ofRecord(records[1]), change, () => Promise.reject(new Error('Not done.')));
  await assert.rejects(failing, /Not done/);
});

// `deskbell token`, and the service that takes what it prints.

const readClaims = (text: string) =>
  JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>;

test('a token of `deskbell token` says whose a subscription is', async () => {
  const data = await temporaryFolder();
  const environment = { DESKBELL_DATA: data, DESKBELL_SUBSCRIBER_TOKENS: 'HS256' };
  const service = await serve('--push-only', { environment });
  const words = ['token', '--user', '42', '--tags', 'beta, de', '--lifetime', '60'];
  const { stdout, stderr } = await runCommand(words, { environment });
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/, stderr);
  // as a backend in another language makes one
  const [header, claims = '', signature] = stdout.trim().split('.');
  const keyText = await readFile(join(data, 'subscriber-token-key'), 'utf8');
  assert.match(keyText, /^[\w-]{43}\n$/);
  const mac = createHmac('sha256', Buffer.from(keyText, 'base64url')).update(`${header}.${claims}`);
  assert.equal(signature, mac.digest('base64url'));
  const { sub, aud } = readClaims(claims);
  assert.deepEqual({ sub, aud }, { sub: '42', aud: 'deskbell' });
  const inAnHour = Math.floor(Date.now() / 1000) + 3600;
  const { stdout: lasting } = await runCommand('token --user 42', { environment });
  assert.ok(Number(readClaims(lasting.split('.')[1]!)['exp']) >= inAnHour, 'an hour, if nothing is said');
  const authorization = `Bearer ${stdout.trim()}`;
  const post = (address: string) =>
    sendJson(address, 'POST', '/webPush', newSubscription(), { authorization });
  assert.equal((await post(service.address)).status, 200);
  const { stdout: listed } = await runCommand('subscriptions list --json', { environment });
  const [{ user, tags }] = parseLines(listed);
  assert.deepEqual({ user, tags }, { user: '42', tags: ['beta', 'de'] });
  assert.equal((await stat(join(data, 'subscriber-token-key'))).mode & 0o777, 0o600);

  const forOthers = await serve('--subscriber-token-audience shop', { environment });
  assert.equal((await post(forOthers.address)).status, 401);

  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const pem = join(data, 'application.pem');
  await writeFile(pem, publicKey.export({ format: 'pem', type: 'spki' }));
  const eddsa = await serve(['--subscriber-tokens', pem], { environment });
  assert.equal((await post(eddsa.address)).status, 401, 'of another algorithm');
  const text = `${Buffer.from('{"alg":"EdDSA"}').toString('base64url')}.${claims}`;
  const own = `Bearer ${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
  const taken = await sendJson(eddsa.address, 'POST', '/webPush', newSubscription(), { authorization: own });
  assert.equal(taken.status, 200, await taken.text());
});

test('no token is made that no service would take', async () => {
  const data = await temporaryFolder();
  const environment = { DESKBELL_DATA: data };
  await runCommand('keys generate', { environment });
  const pem = join(data, 'application.pem');
  const { publicKey } = generateKeyPairSync('ed25519');
  await writeFile(pem, publicKey.export({ format: 'pem', type: 'spki' }));
  for (const [words, error] of [
    [['--user', '42'], /are off: set subscriberTokens to HS256.*ERR_CONFIGURATION/],
    [['--user', '42', '--subscriber-tokens', pem], /private key of the application/],
    [['--user', '42', '--subscriber-tokens', join(data, 'none')], /ERR_FILE/],
    [['--user', '42', '--subscriber-tokens', 'HS256', '--lifetime', '3601'], /at most 3600.*ERR_FIELD_VALUE/],
    [['--user', '42', '--subscriber-tokens', 'HS256', '--tags', 'a b'], /A tag must be/],
    [['--subscriber-tokens', 'HS256'], /--user <id>.*ERR_USAGE/],
  ] as const) {
    const { exitCode, stdout, stderr } = await runCommand(['token', ...words], { environment });
    assert.notEqual(exitCode, 0);
    assert.equal(stdout, '');
    assert.match(stderr, error);
  }
});

// `deskbell invite`: the link that it prints, its QR code, and the service that takes it.

const publicUrl = 'https://bell.example.org';

test('a link of `deskbell invite` lets one browser in, at a service that keeps its public URL', async () => {
  const data = await temporaryFolder();
  const environment = { DESKBELL_DATA: data };
  const service = await serve(['--registrations', 'invited', '--public-url', publicUrl], { environment });
  await service.waitFor(/^Only invited browsers .* invite me --data .* --public-url https:\S+ --port 0$/);
  assert.deepEqual(JSON.parse(await readFile(join(data, 'settings.json'), 'utf8')), { publicUrl });

  const { stdout, stderr } = await runCommand('invite me', { environment });
  const [, token = ''] = /^https:\/\/bell\.example\.org\/#invitation=([\w-]{22})\n$/.exec(stdout) ?? [];
  for (const name of await readdir(data))
    assert.ok(!(await readFile(join(data, name))).includes(token), `${name} has the token`);
  assert.match(stderr, /^It can be used once, until \d{4}-.*Z\.\n$/);

  const post = (headers: Record<string, string>) =>
    sendJson(service.address, 'POST', '/webPush', newSubscription(), headers);
  assert.equal((await post({})).status, 403);
  assert.equal((await post({ 'deskbell-invitation': token })).status, 200);
  assert.equal((await post({ 'deskbell-invitation': token })).status, 403);
  assert.ok(!service.written().includes(token), 'the log has the token');
  const { stdout: listed } = await runCommand('subscriptions list --json', { environment });
  assert.equal(parseLines(listed)[0].user, 'me');

  const { stdout: json } = await runCommand('invite ada --json', { environment });
  const { user, link, expiresAt } = JSON.parse(json) as Record<string, string>;
  assert.equal(user, 'ada');
  assert.match(link!, /^https:\/\/bell\.example\.org\/#invitation=/);
  assert.ok(Date.parse(expiresAt!) > Date.now());
  const nobody = await runCommand(['invite', 'x'.repeat(129)], { environment });
  assert.match(nobody.stderr, /The user has 129 bytes.*ERR_FIELD_VALUE/);
});

test('the link is that of the public URL; on loopback without one it is a plain one that says what to set', async () => {
  const { run } = await newData();
  for (const [words, link, note] of [
    [[], /^http:\/\/127\.0\.0\.1:8080\/#inv/, /on this machine only.*give --public-url/],
    [['--port', '8090', '--prefix', '/push'], /^http:\/\/127\.0\.0\.1:8090\/push\/#inv/, /give --public-url/],
    [['--public-url', 'http://localhost:8080'], /^http:\/\/localhost:8080\/#inv/, /on this machine only/],
    [
      ['--public-url', `${publicUrl}/bell`],
      /^https:\/\/bell\.example\.org\/bell\/#inv/,
      /^It can be used once/,
    ],
  ] as const) {
    const { stdout, stderr } = await run(['invite', 'me', ...words]);
    assert.match(stdout, link, stderr);
    assert.match(stderr, note);
  }
  for (const [words, error] of [
    [['--host', '0.0.0.0'], /give --public-url with the https URL.*ERR_CONFIGURATION/],
    [['--port', '0'], /give --public-url.*ERR_CONFIGURATION/],
    [['--public-url', 'http://bell.example.org'], /must begin with "https:".*ERR_CONFIGURATION/],
    [['--public-url', 'bell.example.org'], /must be a URL such as.*ERR_CONFIGURATION/],
    [['--public-url', `${publicUrl}/?x`], /scheme, host, port and path alone.*ERR_CONFIGURATION/],
  ] as const) {
    const { exitCode, stdout, stderr } = await run(['invite', 'me', ...words]);
    assert.notEqual(exitCode, 0);
    assert.equal(stdout, '');
    assert.match(stderr, error);
  }
});

test('what the data directory keeps gives way to file, environment and flags, and is checked', async () => {
  const { data } = await newData();
  const stored = join(data, 'settings.json');
  const hostOfLink = async (environment: Record<string, string>, ...words: readonly string[]) => {
    const { stdout, stderr } = await runCommand(['invite', 'me', '--data', data, ...words], { environment });
    return stdout === '' ? stderr : new URL(stdout).host;
  };
  await writeFile(stored, '{"publicUrl":"https://stored.example"}', { mode: 0o600 });
  const config = join(data, 'own.json');
  await writeFile(config, '{"publicUrl":"https://file.example"}', { mode: 0o600 });
  const fromFile = { DESKBELL_CONFIG: config };
  const fromEnvironment = { ...fromFile, DESKBELL_PUBLIC_URL: 'https://environment.example' };
  assert.equal(await hostOfLink({}), 'stored.example');
  assert.equal(await hostOfLink(fromFile), 'file.example');
  assert.equal(await hostOfLink(fromEnvironment), 'environment.example');
  assert.equal(await hostOfLink(fromEnvironment, '--public-url', 'https://flag.example'), 'flag.example');
  await writeFile(stored, '{"publicUrl":"ftp://stored.example"}');
  assert.match(await hostOfLink({}), /"publicUrl" in .*settings\.json is .*ERR_CONFIGURATION/);
});

test('a QR code of the link can be read', async () => {
  const link = `${publicUrl}/#invitation=AbCdEfGhIjKlMnOpQrStUv`;
  assert.equal(readQrCode(await drawQrCode(link)), link);
});

/** As a camera sees it: each module is some pixels wide. */
function readQrCode(printed: readonly string[]): string {
  const scale = 4;
  const rows = printed.flatMap((line) => [
    [...line].map((character) => '▀█'.includes(character)),
    [...line].map((character) => '▄█'.includes(character)),
  ]);
  const width = rows[0]!.length * scale;
  const height = rows.length * scale;
  const data = new Uint8Array(width * height * 4).fill(255);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) {
      const isDark = rows[Math.floor(y / scale)]![Math.floor(x / scale)];
      if (isDark) data.fill(0, (y * width + x) * 4, (y * width + x) * 4 + 3);
    }
  return decodeQR({ width, height, data });
}
