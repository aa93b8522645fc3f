// What docs/newsletter.md shows works as it stands there: every command in its order, with readers in three languages.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { createUserAgent, startPushService, type UserAgent } from '../../src/push-service/index.ts';
import { environmentFor, runCommand, serve, temporaryFolder } from '../cli/run-command.ts';
import { blocksOf } from './pages.ts';

const page = 'docs/newsletter.md';

/** The words of each command, as a shell takes them. */
const commands = blocksOf(page, 'sh')
  .flatMap((code) => code.trim().split('\n'))
  .map((line) =>
    Array.from(
      line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g),
      ([, double, single, bare]) => double ?? single ?? bare!,
    ),
  );

/** Each reader's language, and what they get; the first one is the person whose data is known. */
const readers = [
  { language: 'de-AT', title: 'Guten Morgen, Ada', url: '/de/news/7' },
  { language: 'pt-BR', title: 'Bom dia, você', url: '/pt/news/7' },
  { language: 'fr', title: 'Good morning, there', url: '/en/news/7' },
];

test('the newsletter of docs/newsletter.md reaches readers in three languages', async (t) => {
  const pushService = await startPushService();
  t.after(() => pushService.close());
  const folder = await temporaryFolder();
  const environment = environmentFor(join(folder, 'data'), pushService);
  const file = join(folder, 'newsletter.json');
  await writeFile(file, blocksOf(page, 'json')[0]!);
  const run = async (words: readonly string[]): Promise<string> => {
    const given = words.slice(1).map((word) => (word === 'newsletter.json' ? file : word));
    const { stdout, stderr, exitCode } = await runCommand(given, { environment });
    assert.equal(exitCode, 0, `${words.join(' ')}\n${stderr}`);
    return stdout;
  };

  const [serving, ...others] = commands;
  const service = await serve(serving!.slice(2), { environment });
  const vapidKey = (await (await fetch(`${service.address}/vapidKey`)).json()) as string;
  const agents: UserAgent[] = [];
  for (const { language } of readers) {
    const agent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
    t.after(() => agent.close());
    const subscription = await agent.subscribe(vapidKey);
    const registered = await fetch(`${service.address}/webPush`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...subscription, language, timeZone: 'Europe/Berlin' }),
    });
    assert.equal(registered.status, 200);
    agents.push(agent);
  }
  // as your application says whose a browser is
  const data = await openDataDirectory(environment.DESKBELL_DATA);
  await data.store.people.assign(1, { user: '42', tags: [] });
  await data.close();

  const received = async (index: number) => {
    const { title, url, actions } = JSON.parse((await agents[index]!.nextMessage()).text()) as {
      readonly title: string;
      readonly url: string;
      readonly actions: readonly { readonly action: string }[];
    };
    assert.equal(actions[1]?.action, 'turn-off-channel');
    return { title, url };
  };
  const printed = new Map<string, string>();
  for (const words of others) {
    printed.set(words.slice(1, 3).join(' '), await run(words));
    const isSent = words[1] === 'send' && !/--(dry-run|detach|cron)/.test(words.join(' '));
    if (!isSent) continue;
    const some = words.includes('--user') ? [0] : [0, 1, 2];
    for (const index of some) {
      const { title, url } = readers[index]!;
      assert.deepEqual(await received(index), { title, url });
    }
  }
  assert.match(printed.get('people show')!, /Ada/);
  const shown = printed.get('broadcasts show')!;
  assert.match(shown, /3 accepted/);
  assert.match(shown, /\n {2}with {3}.*--channel news\n {2}texts {2}de: 1, pt: 1, the message's own: 1\n/);
  assert.match(printed.get('subscriptions show')!, /accepted/);
  assert.equal((await fetch(`${service.address}/preferences`)).status, 200);
});
