// Users and tags from the command line: they come in and go out with subscriptions, are changed, listed by, and a person is
// removed.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { formatRemoved } from '../../src/cli/commands/subscriptions-remove.ts';
import { exampleSubscription } from './example-subscriptions.ts';
import { parseLines, runCommand, temporaryFolder, type RunResult } from './run-command.ts';

type Run = (words: readonly string[], input?: string) => Promise<RunResult>;

async function newData(): Promise<Run> {
  const data = await temporaryFolder();
  const run: Run = (words, input) =>
    runCommand(words, { environment: { DESKBELL_DATA: data }, ...(input !== undefined && { input }) });
  assert.equal((await run(['keys', 'generate'])).exitCode, 0);
  return run;
}

const lines = (rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const ownersOf = (stdout: string) => parseLines(stdout).map(({ user, tags }) => ({ user, tags }));
const exportOwners = async (run: Run) => ownersOf((await run(['subscriptions', 'export'])).stdout);

const factsOf = async (run: Run) =>
  parseLines((await run(['subscriptions', 'export'])).stdout).map(({ language, timeZone, channels }) => ({
    language,
    timeZone,
    channels,
  }));

suite('deskbell subscriptions with people', { concurrency: true }, () => {
  test('export and import carry user and tags; a row without them changes neither', async () => {
    const [from, to] = [await newData(), await newData()];
    const rows = [
      { ...exampleSubscription(1), user: '42', tags: ['de', 'beta'] },
      { ...exampleSubscription(2), user: 43 },
      { ...exampleSubscription(3), tags: 'news, de' },
      exampleSubscription(4),
    ];
    const owners = [
      { user: '42', tags: ['beta', 'de'] },
      { user: '43', tags: undefined },
      { user: undefined, tags: ['de', 'news'] },
      { user: undefined, tags: undefined },
    ];
    await from(['subscriptions', 'import', '-'], lines(rows));
    assert.deepEqual(await exportOwners(from), owners);
    await to(['subscriptions', 'import', '-'], (await from(['subscriptions', 'export'])).stdout);
    assert.deepEqual(await exportOwners(to), owners);
    await to(['subscriptions', 'import', '-'], lines(rows.map(({ endpoint, keys }) => ({ endpoint, keys }))));
    assert.deepEqual(await exportOwners(to), owners);
  });

  test('a column of any name holds the user', async () => {
    const run = await newData();
    const [one, two, three] = [1, 2, 3].map(exampleSubscription);
    const table =
      'User_ID,endpoint,p256dh,auth,tags,user\n' +
      `42,${one!.endpoint},${one!.keys.p256dh},${one!.keys.auth},"de beta",x\n` +
      `,${two!.endpoint},${two!.keys.p256dh},${two!.keys.auth},,x\n`;
    await run(['subscriptions', 'import', '-', '--user-column', 'user_id'], table);
    const whole = `subscription;user_id;tags\n"${JSON.stringify(three).replaceAll('"', '""')}";44;beta\n`;
    await run(['subscriptions', 'import', '-', '--user-column', 'user_id'], whole);
    const owners = [
      { user: '42', tags: ['beta', 'de'] },
      { user: undefined, tags: undefined },
      { user: '44', tags: ['beta'] },
    ];
    assert.deepEqual(await exportOwners(run), owners);
  });

  test('a row with a user or tags replaces both, and an empty array of tags is such a row', async () => {
    const run = await newData();
    const owned = { ...exampleSubscription(1), user: '42', tags: ['beta'] };
    const after = async (change: object) => {
      const rows = [owned, { ...exampleSubscription(1), ...change }];
      await run(['subscriptions', 'import', '-'], lines(rows));
      return exportOwners(run);
    };
    const nobody = { user: undefined, tags: undefined };
    assert.deepEqual(await after({ user: '43' }), [{ ...nobody, user: '43' }]);
    assert.deepEqual(await after({ tags: ['news'] }), [{ ...nobody, tags: ['news'] }]);
    assert.deepEqual(await after({ tags: [] }), [nobody]);
    assert.deepEqual(await after({ user: '', tags: null }), [{ user: '42', tags: ['beta'] }]);
  });

  test('columns of any name hold user and tags, in rows around a subscription too', async () => {
    const run = await newData();
    const rows = [
      { userId: 42, topics: ['de', 'beta'], subscription: exampleSubscription(1) },
      { userId: 43, topics: 'news;sport', tags: ['none'], sub: exampleSubscription(2) },
    ];
    const words = ['subscriptions', 'import', '-', '--user-column', 'userId', '--tags-column', 'topics'];
    assert.equal((await run(words, JSON.stringify(rows))).stderr, '');
    assert.deepEqual(await exportOwners(run), [
      { user: '42', tags: ['beta', 'de'] },
      { user: '43', tags: ['news', 'sport'] },
    ]);
  });

  test('an import that finds no user or tags where they were to be says so, and what the rows have', async () => {
    const run = await newData();
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

  test('rows with a user that is not valid are refused, and tags that are none left out', async () => {
    const run = await newData();
    const rows = [
      { ...exampleSubscription(1), member: 'x'.repeat(129) },
      { ...exampleSubscription(2), member: { id: 42 } },
      { ...exampleSubscription(2), member: 42.5 },
      { ...exampleSubscription(3), member: '42', tags: ['a b'] },
      { ...exampleSubscription(4), member: '42', tags: 7 },
      { ...exampleSubscription(5), member: '42' },
    ];
    const words = ['subscriptions', 'import', '-', '--json', '--user-column', 'member'];
    const reports = parseLines((await run(words, lines(rows))).stdout);
    assert.deepEqual(reports.pop(), {
      imported: 3,
      updated: 0,
      refused: 3,
      leftOut: 0,
      factsLeftOut: { tags: 2 },
    });
    assert.deepEqual(
      reports.map(({ errors: [{ pointer, code }] }) => `${pointer} ${code}`),
      ['/member ERR_FIELD_VALUE', '/member ERR_FIELD_TYPE', '/member ERR_FIELD_VALUE'],
    );
  });

  test('tags are added and taken away, by person, tag and ID, and list shows whom they choose', async () => {
    const run = await newData();
    const rows = ['42', '42', '43'].map((user, index) => ({ ...exampleSubscription(index), user }));
    await run(['subscriptions', 'import', '-'], lines(rows));
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

    const { stdout } = await run(['subscriptions', 'list', '--user', '43']);
    assert.match(stdout, /USER +TAGS\n +3 .*mozilla\.com +43 +de\n$/);
    assert.match((await run(['subscriptions', 'list', '--user', 'x'])).stderr, /No such subscriptions/);
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
    const [last, removal] = parseLines((await run(['audit', '--json'])).stdout).map(({ action, target }) => [
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
    const run = await newData();
    const rows = ['42', '42', '43'].map((user, index) => ({ ...exampleSubscription(index), user }));
    await run(['subscriptions', 'import', '-'], lines(rows));
    const { stdout } = await run(['subscriptions', 'remove', '--user', '42', '--json']);
    assert.deepEqual(parseLines(stdout), [
      {
        user: '42',
        subscriptions: 2,
        ended: 0,
        broadcasts: 0,
        schedules: 0,
        recipients: 0,
        attempts: 0,
        receipts: 0,
      },
    ]);
    assert.deepEqual(await exportOwners(run), [{ user: '43', tags: undefined }]);
    const again = await run(['subscriptions', 'remove', '--user', '42']);
    assert.match(again.stdout, /^Removed:\n +0 {2}subscriptions\n(?: +0 {2}.+\n){6}Backups of the database/);
    const counts = { subscriptions: 1, ended: 2, attempts: 3, receipts: 4, recipients: 5, broadcasts: 6 };
    assert.deepEqual(
      formatRemoved({ ...counts, schedules: 7 })
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
      ],
    );
    for (const words of [['--user', '42', '3'], []]) {
      assert.match((await run(['subscriptions', 'remove', ...words])).stderr, /ERR_USAGE/);
    }
    const nobody = await run(['subscriptions', 'remove', '--user', 'a\nb']);
    assert.match(nobody.stderr, /without control characters.*ERR_FIELD_VALUE/);
  });

  test('channels are made and removed, and a person’s choices and data are set and shown', async () => {
    const run = await newData();
    const print = async (...words: string[]) => {
      const { stdout, stderr, exitCode } = await run(words);
      assert.equal(exitCode, 0, stderr);
      return stdout;
    };
    const fail = async (...words: string[]) => (await run(words)).stderr;
    assert.match(await fail('channels', 'set', 'news'), /There is no channel "news" yet; give it a title/);
    await print('channels', 'set', 'news', '--title', 'News', '--title-in', 'DE=Neues');
    await print('channels', 'set', 'offers', '--title', 'Offers', '--default', 'off');
    await print('channels', 'set', 'news', '--title-in', 'de=Nachrichten', '--title-in', 'fr=Actualités');
    assert.equal(
      await print('channels', 'list'),
      'news  on by default  “News”  de “Nachrichten”  fr “Actualités”\noffers  off by default  “Offers”\n',
    );
    const [news, offers] = parseLines(await print('channels', 'list', '--json'));
    assert.deepEqual(news, {
      name: 'news',
      title: 'News',
      titles: { de: 'Nachrichten', fr: 'Actualités' },
      isOnByDefault: true,
    });
    assert.deepEqual(offers, { name: 'offers', title: 'Offers', titles: {}, isOnByDefault: false });
    // what is not given stays, and an empty title goes
    await print('channels', 'set', 'offers', '--title-in', 'fr=Offres');
    const both = 'offers  off by default  “Offers”  fr “Offres”  de “Angebote”\n';
    assert.equal(await print('channels', 'set', 'offers', '--title-in', 'de=Angebote'), both);
    const one = 'offers  off by default  “Offers”  de “Angebote”\n';
    assert.equal(await print('channels', 'set', 'offers', '--title-in', 'fr='), one);
    await print('channels', 'set', 'caf\u00e9', '--title', 'Café', '--default', 'off');
    assert.match(await print('channels', 'set', 'cafe\u0301', '--title', 'Bar'), /off by default {2}“Bar”/);
    await print('channels', 'remove', 'cafe\u0301');
    await print('people', 'set', '42', '--values', '{"name": "Ada", "points": 3}', '--language', 'DE');
    await print('people', 'set', '42', '--values', '{"points": null}', '--channel', 'news=off');
    assert.equal(
      await print('people', 'show', '42'),
      'Person 42\n' +
        '  data       {"name":"Ada"}\n' +
        '  language   de\n' +
        '  time zone  that of each browser\n' +
        '  news: off, chosen\n' +
        '  offers: off, by default\n',
    );
    await print('channels', 'set', 'offers', '--default', 'on');
    assert.match(await print('people', 'show', '42'), /^ {2}offers: on, by default$/m);
    await print('people', 'set', '42', '--channel', 'news=on', '--channel', 'offers=off');
    assert.match(await print('people', 'show', '42'), /^ {2}news: on, chosen\n {2}offers: off, chosen$/m);
    await print('people', 'set', '42', '--channel', 'offers=default', '--timezone', 'Europe/Berlin');
    assert.match(await print('people', 'show', '42'), /^ {2}time zone {2}Europe\/Berlin$/m);
    const [person] = parseLines(
      await print(
        'people',
        'set',
        '42',
        '--timezone',
        '',
        '--language',
        '',
        '--channel',
        'news=default',
        '--json',
      ),
    );
    assert.deepEqual(person, { user: '42', data: { name: 'Ada' }, channels: {} });
    assert.deepEqual(parseLines(await print('people', 'show', '42', '--json')), [person]);
    assert.match(
      await fail('people', 'set', '42', '--channel', 'nwes=on'),
      /There is no channel "nwes"; there are/,
    );
    assert.match(await fail('people', 'set', '42', '--channel', 'news'), /news=off.*ERR_USAGE/);
    for (const values of ['Ada', '[]', 'null']) {
      assert.match(
        await fail('people', 'set', '42', '--values', values),
        /It must be a JSON object.*ERR_USAGE/,
      );
    }
    assert.match(
      await fail('people', 'set', '42', '--timezone', 'Berlin'),
      /such as Europe\/Berlin.*ERR_FIELD_VALUE/,
    );
    assert.deepEqual(parseLines(await print('channels', 'remove', 'offers', '--json')), [
      { name: 'offers', removed: true },
    ]);
    assert.match(await fail('channels', 'remove', 'offers'), /ERR_CHANNEL_NOT_FOUND/);
  });

  test('export and import carry language, time zone and choices; an import overrides no choice', async () => {
    const [from, to] = [await newData(), await newData()];
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
    for (const run of [from, to]) await run(['channels', 'set', 'news', '--title', 'News']);
    await from(['subscriptions', 'import', '-'], table);
    const own = { language: 'pt-BR', timeZone: 'Europe/Berlin', channels: { news: true, offers: true } };
    const nothing = { language: undefined, timeZone: undefined, channels: undefined };
    assert.deepEqual(await factsOf(from), [own, nothing]);
    // what the person has chosen goes along
    const data = ['--values', '{"name": "Ada"}'];
    const chosen = ['--language', 'de', '--timezone', 'Asia/Tokyo', '--channel', 'news=off'];
    await from(['people', 'set', '42', ...chosen, ...data]);
    assert.doesNotMatch((await from(['subscriptions', 'export'])).stdout, /Ada/);
    const held = { language: 'de', timeZone: 'Asia/Tokyo', channels: { news: false, offers: true } };
    assert.deepEqual(await factsOf(from), [held, nothing]);
    await to(['subscriptions', 'import', '-'], (await from(['subscriptions', 'export'])).stdout);
    assert.deepEqual(await factsOf(to), [held, nothing]);
    await to(['subscriptions', 'import', '-'], table);
    assert.deepEqual(await factsOf(to), [{ ...held, language: 'pt-BR', timeZone: 'Europe/Berlin' }, nothing]);
    await from(['subscriptions', 'import', '-'], table);
    assert.deepEqual(await factsOf(from), [held, nothing], 'the person’s choice holds');
  });

  test('a language, time zone or choices that are not understood are left out, and counted', async () => {
    const run = await newData();
    const rows = [
      { ...exampleSubscription(1), language: 'English language' },
      { ...exampleSubscription(2), timeZone: '+01:00' },
      { ...exampleSubscription(3), channels: 'news' },
      { ...exampleSubscription(4), channels: { news: 1 } },
    ];
    const { stdout, stderr } = await run(['subscriptions', 'import', '-'], lines(rows));
    assert.equal(stdout, 'Imported 4, refused 0.\n');
    assert.deepEqual(stderr.split('\n'), [
      '1 × languages not understood, left out: English language',
      '1 × time zones not understood, left out: +01:00',
      '2 × choices of channels not understood, left out',
      '',
    ]);
  });
});
