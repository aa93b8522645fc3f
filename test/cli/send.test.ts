// `deskbell send`: to one or to all of the store, over a real push service, and what it prints of the outcomes.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { readConfiguration, storeSettings } from '../../src/cli/configuration/read-configuration.ts';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { createBroadcast } from '../../src/delivery/broadcast/create-broadcast.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import {
  createUserAgent,
  startPushService,
  type PushService,
  type UserAgent,
} from '../../src/push-service/index.ts';
import { exampleSubscription } from './example-subscriptions.ts';
import {
  commandsIn,
  dataWithSinks,
  newData,
  outputOf,
  parseLines,
  runCommand,
  serve,
} from './run-command.ts';
import { listenOnNewPort } from '../../tools/listening.ts';

const message = ['--title', 'Ding dong', '--message', 'Tea is ready ☕'];

suite('deskbell send', () => {
  let pushService: PushService;
  let userAgent: UserAgent;
  before(async () => {
    pushService = await startPushService();
    userAgent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
  });
  after(async () => {
    await userAgent.close();
    await pushService.close();
  });

  /** A data directory with `count` subscriptions of the user agent, and a way to send from it. */
  async function setUp(count: number) {
    const { data, run, publicKey } = await newData(pushService);
    const subscriptions = [];
    for (let index = 0; index < count; index += 1) subscriptions.push(await userAgent.subscribe(publicKey));
    const input = subscriptions.map((subscription) => `${JSON.stringify(subscription)}\n`).join('');
    await outputOf(run('subscriptions import -', input));
    return {
      data,
      endpoints: subscriptions.map(({ endpoint }) => endpoint),
      send: (...words: string[]) => run(['send', ...message, ...words]),
      /** Sends what the words and the standard input say, without a title and text of its own. */
      sendOwn: (words: readonly string[], text?: string) => run(['send', '--id', '1', ...words], text),
    };
  }

  test('a message to one id arrives as it was given', async () => {
    const { endpoints, send } = await setUp(2);
    const stdout = await outputOf(send('--id', '2'));
    assert.match(stdout, /^accepted +2 .* 201\n$/);
    const received = await userAgent.nextMessage();
    assert.equal(received.endpoint, endpoints[1]);
    assert.deepEqual(received.json(), { title: 'Ding dong', message: 'Tea is ready ☕' });
  });

  test('members and actions of the message are flags', async () => {
    const { send } = await setUp(1);
    const members = ['--url', '/7', '--icon', 'i.png', '--image', 'm.png', '--badge', 'b.png'];
    const actions = ['--action', 'Open=/7?a=b', '--action', 'Later'];
    const behaviour = ['--notification-tag', '7', '--renotify', '--no-require-interaction', '--silent'];
    const others = ['--timestamp', '1', '--lang', 'de', '--text-direction', 'rtl', '--app-badge', '3'];
    const data = ['--json-data', '{"order":7}'];
    const words = [...members, ...actions, ...behaviour, ...others, ...data];
    await outputOf(send('--id', '1', ...words));
    const { id, ...received } = (await userAgent.nextMessage()).json() as Record<string, unknown>;
    assert.equal(typeof id, 'string', 'it may alert again');
    assert.deepEqual(received, {
      title: 'Ding dong',
      message: 'Tea is ready ☕',
      url: '/7',
      icon: 'i.png',
      image: 'm.png',
      badge: 'b.png',
      actions: [
        { title: 'Open', url: '/7?a=b', action: '0' },
        { title: 'Later', action: '1' },
      ],
      tag: '7',
      renotify: true,
      requireInteraction: false,
      silent: true,
      timestamp: 1,
      lang: 'de',
      dir: 'rtl',
      appBadge: 3,
      data: { order: 7 },
    });
  });

  test('--declarative asks for the declarative form', async () => {
    const { send } = await setUp(1);
    await outputOf(send('--id', '1', '--declarative', '--url', 'https://example.org/'));
    const received = (await userAgent.nextMessage()).json() as Record<string, unknown>;
    assert.equal(received['web_push'], 8030);
  });

  test('a message with --texts and --placeholders is the one for its reader, or is not sent', async () => {
    const { data, sendOwn } = await setUp(1);
    const { store } = await openDataDirectory(data);
    await store.people.assign(1, { user: 'ada' });
    await store.readers.setPerson('ada', { data: { name: 'Ada' }, language: 'de-AT' });
    await store.close();
    const words = ['--title', 'Hi {name|there}', '--message', '{count|some}', '--placeholders', '--texts'];
    await outputOf(sendOwn([...words, '{"de":{"title":"Hallo {name}"}}']));
    assert.deepEqual((await userAgent.nextMessage()).json(), {
      title: 'Hallo Ada',
      message: 'some',
      lang: 'de',
    });
    const dryRun = await sendOwn([...words, '{"de":{"title":"Hallo {name}"}}', '--dry-run', '--json']);
    const [shown] = parseLines(dryRun.stdout);
    assert.deepEqual(shown!.payload, { title: 'Hallo Ada', message: 'some', lang: 'de' });
    assert.equal(shown!.texts, undefined);
    const refused = await sendOwn([...words, '{"de":{"title":"{count}"}}']);
    assert.notEqual(refused.exitCode, 0);
    assert.match(refused.stderr, /placeholder \{count\} in texts\.de\.title .*ERR_PLACEHOLDER_VALUE/s);
  });

  test('--json-message is the whole message, from a file or standard input', async () => {
    const { data, sendOwn } = await setUp(1);
    const whole = { title: 't', message: 'm', lang: 'de', data: { order: 7 } };
    const file = join(data, 'message.json');
    await writeFile(file, JSON.stringify(whole, null, 2));
    for (const [words, input] of [
      [['--json-message', file], ''],
      [['--json-message', '-'], JSON.stringify(whole)],
    ] as const) {
      await outputOf(sendOwn(words, input));
      assert.deepEqual((await userAgent.nextMessage()).json(), whole);
    }
  });

  test('a message that is none is refused, and nothing of it is shown', async () => {
    const { sendOwn } = await setUp(1);
    const fromInput = ['--json-message', '-'];
    const texts = ['--title', 't', '--message', 'm'];
    const refused: readonly [readonly string[], string, RegExp][] = [
      [fromInput, '{secret', /Standard input does not hold a message as JSON.*ERR_MESSAGE_INVALID/],
      [fromInput, '"secret"', /The message is of type string/],
      [fromInput, '{"title":"t","message":"m","Url":"secret"}', /Unknown message member "Url"/],
      [[...fromInput, '--title', 't'], '{}', /--json-message.*cannot be used with.*--title/],
      [
        ['--title', 't'],
        '',
        /Give the message: its text as an argument, or --title and --message, or --json-message/,
      ],
      [[...texts, '--url', 'mailto:secret'], '', /url of the message is not usable; give an http/],
      [[...texts, '--action', '=/secret'], '', /It must be a title and a URL/],
    ];
    for (const [words, input, fault] of refused) {
      const { exitCode, stderr } = await sendOwn(words, input);
      assert.notEqual(exitCode, 0);
      assert.match(stderr, fault);
    }
  });

  test('--dry-run prints the size of the audience and the payload, and sends and stores nothing', async () => {
    const { data, endpoints, send, sendOwn } = await setUp(3);
    const [first = ''] = endpoints;
    const file = join(data, 'list.jsonl');
    const rows = ['x', 'x', 'y'].map((name) => JSON.stringify(exampleSubscription(name)));
    await writeFile(file, rows.join('\n'));
    for (const [words, recipients] of [
      [['--all'], 3],
      [['--ids', '1,3,3,99'], 2],
      [['--file', file], 2],
      [['--id', '2'], 1],
      [['--endpoint', first], 1],
    ] as const) {
      const stdout = await outputOf(send(...words, '--dry-run', '--json'));
      const payload = { title: 'Ding dong', message: 'Tea is ready ☕' };
      const payloadBytes = Buffer.byteLength(JSON.stringify(payload));
      assert.deepEqual(parseLines(stdout), [{ event: 'dry-run', recipients, payloadBytes, payload }]);
    }
    const { stdout } = await send('--all', '--dry-run');
    const readers = await send('--all', '--dry-run', '--texts', '{"de":{"title":"Hallo"}}');
    assert.match(
      readers.stdout,
      /Of these:\n {2}3 get the message's own text\nIn de, 58 bytes:\n\{"title":"Hallo"/,
    );
    const nobody = await send('--ids', '99', '--dry-run', '--texts', '{"de":{"title":"Hallo"}}');
    assert.doesNotMatch(nobody.stdout, /Of these/);
    const inGerman = await send('--all', '--dry-run', '--json', '--texts', '{"de":{"title":"Hallo"}}');
    assert.deepEqual(parseLines(inGerman.stdout)[0].texts, {
      de: { payloadBytes: 58, payload: { title: 'Hallo', message: 'Tea is ready ☕', lang: 'de' } },
    });
    const { store } = await openDataDirectory(data);
    await store.channels.put({ name: 'offers', title: 'Offers', titles: {}, isOnByDefault: false });
    await store.close();
    for (const whom of [['--all'], ['--file', file]]) {
      const unfilled = await send(...whom, '--dry-run', '--url', '/{id}', '--placeholders');
      assert.match(unfilled.stderr, /placeholder \{id\} in url .*ERR_PLACEHOLDER_VALUE/s);
      assert.match((await send(...whom, '--dry-run', '--channel', 'none')).stderr, /ERR_CHANNEL_NOT_FOUND/);
    }
    const toNobody = await send('--file', file, '--dry-run', '--channel', 'offers');
    assert.match(toNobody.stderr, /"channel" is off by default.*nobody would get it/);
    assert.match(
      stdout,
      /^Would be sent to 3 subscriptions; nothing was sent\..* 50 of at most 3,993 bytes:\n\{"title":/,
    );

    const { exitCode, stderr } = await sendOwn(['--dry-run', '--title', 't', '--message', 'x'.repeat(4000)]);
    assert.equal(exitCode, 1);
    assert.match(stderr, /ERR_PAYLOAD_TOO_LARGE/);
    assert.match((await send('--id', '99', '--dry-run')).stderr, /ERR_SUBSCRIPTION_NOT_FOUND/);
    assert.match((await send('--all', '--ttl', '99999999999', '--dry-run')).stderr, /ERR_MESSAGE_INVALID/);
    for (const cron of ['monday', '0 0 31 2 *'])
      assert.match((await send('--all', '--cron', cron, '--dry-run')).stderr, /ERR_SCHEDULE_INVALID/);

    // what comes next is the first message, and the first broadcast
    const sent = parseLines((await send('--all', '--json')).stdout);
    assert.equal(sent[0].id, 1);
    for (let index = 0; index < 3; index += 1) await userAgent.nextMessage();
    const again = await send('--broadcast', '1', '--dry-run');
    assert.match(again.stdout, /^Would be sent to 3 subscriptions;/);
    const late = await send('--broadcast', '1', '--outcome', 'clicked', '--dry-run');
    assert.match(late.stderr, /did not ask for receipts/);
    const alone = await send('--all', '--outcome', 'missed');
    assert.match(alone.stderr, /--outcome goes with --broadcast/);
  });

  test('local times are those of this machine where no time zone is given', async (t) => {
    const { TZ } = process.env;
    t.after(() => {
      if (TZ === undefined) delete process.env['TZ'];
      else process.env['TZ'] = TZ;
    });
    process.env['TZ'] = 'Asia/Dubai';
    const { data, send } = await setUp(2);
    const words = ['--all', '--json', '--local-time', '09:00'];
    const [dryRun] = parseLines((await send(...words, '--dry-run')).stdout);
    assert.match(dryRun.readers.from, /T05:00:00.000Z$/);
    const { store } = await openDataDirectory(data);
    await store.people.assign(2, { user: 'ada' });
    await store.readers.setPerson('ada', { timeZone: 'America/New_York' });
    await store.close();
    const [later] = parseLines((await send(...words, '--dry-run', '--at', '2037-01-01T00:00:00Z')).stdout);
    const { from, through } = later.readers;
    assert.deepEqual([from, through], ['2037-01-01T05:00:00.000Z', '2037-01-01T14:00:00.000Z']);
    // 04:00 in Dubai, and 19:00 in New York
    const held = ['--at', '2037-01-01T00:00:00Z', '--quiet-hours', '00:00-06:00'];
    const [waiting] = parseLines((await send('--all', '--json', ...held, '--dry-run')).stdout);
    assert.deepEqual(waiting.readers, {
      lookedAt: 2,
      isEstimate: false,
      reached: 2,
      byText: { '': 2 },
      channelOff: 0,
      timePassed: 0,
      nextDay: 0,
      atOnce: 1,
      heldByQuietHours: 1,
      expired: 0,
      from: '2037-01-01T00:00:00.000Z',
      through: '2037-01-01T02:00:00.000Z',
    });
    const [stored] = parseLines((await send(...words, '--detach', '--if-time-passed', 'skip')).stdout);
    assert.deepEqual([stored.isNew, stored.timeZone, stored.ifTimePassed], [true, 'Asia/Dubai', 'skip']);
    const [given] = parseLines((await send(...words, '--detach', '--timezone', 'Asia/Tokyo')).stdout);
    assert.equal(given.timeZone, 'Asia/Tokyo');
    const quiet = ['--all', '--json', '--quiet-hours', '22:00-07:00', '--timezone', 'Asia/Tokyo'];
    assert.equal(parseLines((await send(...quiet, '--detach')).stdout)[0].timeZone, 'Asia/Tokyo');
    // those of schedules, and of applications, are no machine's
    const [schedule] = parseLines((await send('--all', '--json', '--cron', '0 9 * * *')).stdout);
    assert.deepEqual([schedule.event, schedule.timezone], ['schedule', 'UTC']);
    const opened = await openDataDirectory(data);
    const text = { title: 'News', message: 'It rains' };
    const policy = createEndpointPolicy();
    const { broadcast } = await createBroadcast(opened.store, policy, 'all', text, { localTime: '09:00' });
    await opened.close();
    assert.equal(broadcast.timeZone, 'UTC');
    const { stderr } = await send('--all', '--timezone', 'Berlin');
    assert.match(
      stderr,
      /"--timezone" must be the name of a time zone, such as Europe\/Berlin, not this string\./,
    );
  });

  test('--user and tags choose the audience, together', async () => {
    const { data, send } = await setUp(2);
    const { store } = await openDataDirectory(data);
    await store.people.assign(1, { user: '42', tags: ['news'] });
    await store.people.assign(2, { user: '42', tags: ['news', 'muted'] });
    await store.close();
    const misspelt = await send('--user', 'nobody');
    assert.equal(misspelt.exitCode, 1);
    assert.match(misspelt.stderr, /The user "nobody" has no subscription.*ERR_SUBSCRIPTION_NOT_FOUND/);
    await outputOf(send('--user', '42', '--tag', 'sport'));
    const sent = parseLines((await send('--user', '42', '--not-tag', 'muted', '--json')).stdout);
    assert.equal(sent.at(-1).counts.accepted, 1);
    await userAgent.nextMessage();

    assert.match((await send('--user', '42', '--all')).stderr, /--all.* cannot be used with .*--user/);
    assert.match((await send('--tag', 'a b')).stderr, /A tag must be .*ERR_FIELD_VALUE/);
    assert.match((await send()).stderr, /Choose the audience: .*--user/);
  });

  test('title or text may be empty', async () => {
    const { send } = await setUp(1);
    for (const [title, body, ...words] of [
      ['Hello', '', '--id', '1'],
      // a time that is over by now is no reason to leave it to a worker
      ['', 'Hello', '--all', '--at', new Date(Date.now() - 1000).toISOString()],
    ] as const) {
      await outputOf(send(...words, `--title=${title}`, `--message=${body}`));
      assert.deepEqual((await userAgent.nextMessage()).json(), { title, message: body });
    }
  });

  test('a blank message is refused', async () => {
    const { sendOwn } = await setUp(1);
    for (const text of ['', ' \n']) {
      const { exitCode, stderr } = await sendOwn([text]);
      assert.match(
        stderr,
        /^deskbell: The text of the message is blank, so nothing was sent; .*\[ERR_USAGE\]\n$/,
      );
      assert.equal(exitCode, 2);
    }
    const { exitCode, stderr } = await sendOwn(['--title=', '--message= ']);
    assert.match(stderr, /^deskbell: The members title and message of the message are both blank; /);
    assert.equal(exitCode, 1);
    const asFile = await sendOwn(['--json-message', '-'], JSON.stringify({ title: '', message: '' }));
    assert.match(asFile.stderr, /are both blank; .*\[ERR_MESSAGE_INVALID\]\n$/);
  });

  test('a subject with its scheme in capitals is sent as push services expect it, and is kept', async () => {
    const { data, send } = await setUp(1);
    await outputOf(send('--id', '1', '--subject', 'MAILTO:push@example.org'));
    await userAgent.nextMessage();
    // a message to one is a first one, too
    const { subject } = JSON.parse(await readFile(join(data, 'settings.json'), 'utf8')) as {
      subject: string;
    };
    assert.match(subject, /^mailto:push@example\.org$/i);
  });

  test('a message to an endpoint goes there, and the endpoint is not printed whole', async () => {
    const { endpoints, send } = await setUp(2);
    const [endpoint = ''] = endpoints;
    for (const flags of [[], ['--json']]) {
      const stdout = await outputOf(send('--endpoint', endpoint, ...flags));
      assert.ok(!stdout.includes(endpoint) && !stdout.includes(`${pushService.origin}/m/`));
      assert.equal((await userAgent.nextMessage()).endpoint, endpoint);
    }
  });

  test('a push service that is busy or refuses keeps the row, one that calls it gone does not, and the exit code says so', async () => {
    const { data, endpoints, send } = await setUp(1);
    const [endpoint = ''] = endpoints;
    for (const [status, shown] of [
      [429, /^retry +1 .* 429 .*again in 7 s/],
      [503, /^retry +1 .* 503/],
      [403, /^rejected +1 .* 403/],
      [410, /^gone +1 .* 410  removed/],
    ] as const) {
      assert.equal(await countRows(data), 1);
      pushService.faults.inject({ kind: 'status', status, retryAfter: 7, times: 1, endpoint });
      const { exitCode, stdout, stderr } = await send('--id', '1');
      assert.equal(exitCode, 1);
      assert.match(stdout, shown);
      assert.match(stderr, /ERR_NOT_ACCEPTED/);
    }
    assert.equal(await countRows(data), 0);
    assert.match((await send('--id', '1')).stderr, /There is no subscription 1.*ERR_SUBSCRIPTION_NOT_FOUND/);
  });

  test('a push service is trusted whose authority --ca adds, and no other one', async (t) => {
    const secure = await startPushService({ tls: true });
    t.after(() => secure.close());
    const { data, run } = await dataWithSinks(secure, 1);
    const ca = join(data, 'ca.pem');
    await writeFile(ca, secure.ca.join('\n'));
    for (const [words, outcome] of [
      [[], /^retry /],
      [['--ca', ca], /^accepted /],
    ] as const) {
      assert.match((await run(['send', '--id', '1', ...words, ...message])).stdout, outcome);
    }
  });

  test('messages go through the proxy of the environment, except to what no_proxy names', async (t) => {
    const { data } = await newData();
    const asked: (string | undefined)[] = [];
    // push service and proxy in one
    const server = createServer((request, response) => {
      asked.push(request.method);
      // a clock that is wrong is warned of
      const date = new Date(0).toUTCString();
      request.resume().on('end', () => response.writeHead(201, { date }).end());
    });
    server.on('connect', ({ method, url }, socket) => {
      asked.push(`${method} ${url}`);
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    t.after(() => server.close());
    const port = await listenOnNewPort(server);
    // an address of this machine that is not loopback, which never goes through a proxy
    const host = `0.0.0.0:${port}`;
    const environment = { DESKBELL_DATA: data, DESKBELL_PUSH_SERVICES: `http://${host}` };
    const input = JSON.stringify({ ...exampleSubscription('x'), endpoint: `http://${host}/x` });
    await outputOf(runCommand('subscriptions import -', { input, environment }));
    const proxy = `http://127.0.0.1:${port}`;
    for (const [variables, expected] of [
      [{ https_proxy: proxy }, `CONNECT ${host}`],
      [{ all_proxy: proxy }, `CONNECT ${host}`],
      [{ all_proxy: proxy, no_proxy: '0.0.0.0' }, 'POST'],
    ] as const) {
      const words = ['send', '--id', '1', '--subject', 'mailto:push@example.org', ...message];
      const sent = await runCommand(words, { environment: { ...environment, ...variables } });
      assert.deepEqual(asked.splice(0), [expected]);
      if (expected === 'POST') assert.match(sent.stderr, /^deskbell: The clock is \d+ minutes ahead of /m);
    }
  });

  test('TTL 0 to a user agent that is away is not kept; a topic replaces what waits', async () => {
    const { send } = await setUp(1);
    await userAgent.disconnect();
    for (const whom of [['--all'], ['--id', '1']]) {
      await send(...whom, '--ttl', '0');
      await send(...whom, '--topic', 'tea time: 16:30', '--urgency', 'high');
    }
    await send('--all', '--topic', 'tea time: 16:30', '--title', 'Replaced');
    await userAgent.connect();
    assert.equal(((await userAgent.nextMessage()).json() as { title: string }).title, 'Replaced');
    await assert.rejects(userAgent.nextMessage(300));
  });

  test('a text alone is a message; title and contact are those of the installation', async () => {
    const { data, publicKey } = await newData();
    const environment = { DESKBELL_DATA: data, DESKBELL_PUSH_SERVICES: pushService.origin };
    const run = commandsIn(environment);
    const row = { ...(await userAgent.subscribe(publicKey)), user: 'me' };
    await outputOf(run('subscriptions import -', JSON.stringify(row)));
    const path = join(data, 'settings.json');
    const kept = async () => JSON.parse(await readFile(path, 'utf8')) as unknown;
    assert.deepEqual(await kept(), { pushServices: [pushService.origin] }, 'by the import');
    const shown = async () => (await userAgent.nextMessage()).json();
    const send = async (...words: string[]) => {
      await outputOf(run(['send', '--user', 'me', ...words]));
    };

    await outputOf(run('send --user me x --subject mailto:dry@example.org --dry-run'));
    assert.deepEqual(await kept(), { pushServices: [pushService.origin] }, 'a dry run stores nothing');

    // the first one that is given a contact and push services leaves them to the others
    await send('Backups are done', '--subject', 'mailto:me@example.org');
    assert.deepEqual(await shown(), { title: hostname(), message: 'Backups are done' });
    await send('Again', '--title', 'NAS');
    assert.deepEqual(await shown(), { title: 'NAS', message: 'Again' });
    await send('Once more', '--subject', 'mailto:other@example.org');
    assert.deepEqual(await shown(), { title: hostname(), message: 'Once more' });
    assert.deepEqual(await kept(), {
      subject: 'mailto:me@example.org',
      pushServices: [pushService.origin],
    });
    await outputOf(commandsIn({ DESKBELL_DATA: data })('send --user me Kept'));
    assert.deepEqual(await shown(), { title: hostname(), message: 'Kept' });

    // as serve with an empty list
    const empty = await readConfiguration({ flags: { data, pushServices: '' }, environment: {} });
    await storeSettings(empty, { replace: true });
    assert.deepEqual(await kept(), { subject: 'mailto:me@example.org' });

    // a public URL is both
    const publicUrl = 'https://bell.example.org:8443/push';
    // as some editors save it, with a byte order mark
    await writeFile(path, `\ufeff${JSON.stringify({ publicUrl })}`);
    await send('From afar');
    assert.deepEqual(await shown(), { title: 'bell.example.org:8443', message: 'From afar' });
    // also of a text that is posted to serve
    await writeFile(path, JSON.stringify({ publicUrl, subject: 'mailto:me@example.org' }));
    const subject = 'mailto:serve@example.org';
    const service = await serve(['--operator', '127.0.0.1:0', '--subject', subject], { environment });
    assert.deepEqual(await kept(), { publicUrl, subject, pushServices: [pushService.origin] }, 'by serve');
    const [, operator] = await service.waitFor(/^The operator’s listener is at (http:\S+)$/);
    const token = (await run('operators add backup --send')).stdout.trim();
    const posted = await fetch(`${operator}/v1/messages?user=me`, {
      method: 'POST',
      body: 'Posted',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
    });
    assert.equal(posted.status, 200, await posted.text());
    assert.deepEqual(await shown(), { title: 'bell.example.org:8443', message: 'Posted' });
    await service.end();

    const twice = await run('send --user me one --message two');
    assert.equal(twice.exitCode, 2);
    assert.match(twice.stderr, /Give the text of the message once/);
    assert.match((await run('send --user me')).stderr, /its text as an argument/);
  });

  test('what cannot be sent is said before anything is', async () => {
    const { data, send } = await setUp(1);
    const noSubject = await runCommand(['send', ...message, '--all', '--data', data]);
    assert.equal(noSubject.exitCode, 2);
    assert.match(noSubject.stderr, /--subject/);
    const tooLong = await send('--all', '--message', 'x'.repeat(4000));
    assert.equal(tooLong.exitCode, 1);
    assert.match(tooLong.stderr, /^deskbell: .* \[ERR_PAYLOAD_TOO_LARGE\]\n$/);
    const ca = join(data, 'ca.pem');
    assert.match((await send('--all', '--ca', ca)).stderr, /ca\.pem cannot be read.*ERR_FILE/);
    await writeFile(ca, 'no certificate');
    assert.match(
      (await send('--all', '--ca', ca)).stderr,
      /^deskbell: .*does not start with a certificate.*\]\n$/,
    );
    const nowhere = await runCommand(['send', ...message, '--all', '--data', join(data, 'none')]);
    assert.match(nowhere.stderr, /ERR_DATA_MISSING/);
  });
});

async function countRows(data: string): Promise<number> {
  const { stdout } = await runCommand(['subscriptions', 'list', '--json', '--data', data]);
  return stdout.split('\n').length - 1;
}
