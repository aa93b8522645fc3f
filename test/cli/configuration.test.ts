// The configuration: what wins over what, and that nothing unknown or unusable is passed over.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import {
  settingGroups,
  settingNames,
  settings,
  flagOf,
  variableOf,
} from '../../src/cli/configuration/configuration.ts';
import type { Setting } from '../../src/cli/configuration/setting.ts';
import { contactOf, readConfiguration } from '../../src/cli/configuration/read-configuration.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';

suite('configuration', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'deskbell-configuration-'));
  });
  after(() => rm(folder, { recursive: true }));

  const file = async (content: unknown): Promise<string> => {
    const path = join(folder, 'deskbell.json');
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  };
  test('every entry is in one group', () => {
    assert.deepEqual(
      settingGroups.flatMap(({ names }) => names),
      settingNames,
    );
  });

  test('without any source every entry has its default', async () => {
    const configuration = await readConfiguration({ flags: {}, environment: {} });
    assert.deepEqual(Object.keys(configuration), settingNames);
    for (const name of settingNames) assert.deepEqual(configuration[name], settings[name].default);
    const page = await readFile(join(import.meta.dirname, '../../docs/configuration.md'), 'utf8');
    for (const name of settingNames) {
      const { default: value, defaultLabel = `\`${String(value)}\`` }: Setting<unknown> = settings[name];
      const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\`<br>`));
      assert.ok(row?.endsWith(` | ${defaultLabel} |`), `the default of ${name} in ${row}`);
    }
  });

  test('the contact is the subject, else the origin of a public https URL that is not of this machine', () => {
    const subject = 'mailto:me@example.org';
    for (const [given, contact] of [
      [{ subject, publicUrl: 'https://bell.example.org' }, subject],
      [{ publicUrl: 'https://bell.example.org:8443/push/' }, 'https://bell.example.org:8443'],
      [{ publicUrl: 'https://localhost/push/' }, undefined],
      [{ publicUrl: 'http://127.0.0.1:8080' }, undefined],
      [{}, undefined],
    ] as const) {
      assert.equal(contactOf({ subject: undefined, publicUrl: undefined, ...given }), contact);
    }
  });

  test('what Kubernetes sets for a Service called deskbell is left alone, and nothing else', async () => {
    const links = {
      DESKBELL_SERVICE_HOST: '10.0.0.11',
      DESKBELL_SERVICE_PORT: '80',
      DESKBELL_SERVICE_PORT_HTTP: '80',
      DESKBELL_PORT: 'tcp://10.0.0.11:80',
      DESKBELL_PORT_80_TCP: 'tcp://10.0.0.11:80',
      DESKBELL_PORT_80_TCP_PROTO: 'tcp',
      DESKBELL_PORT_80_TCP_PORT: '80',
      DESKBELL_PORT_80_TCP_ADDR: '10.0.0.11',
    };
    const ofOperator = Object.entries(links).map(
      ([name, value]) => [name.replace('DESKBELL_', 'DESKBELL_OPERATOR_API_'), value] as const,
    );
    const environment = { ...links, ...Object.fromEntries(ofOperator) };
    assert.equal((await readConfiguration({ flags: {}, environment })).port, 8080);
    const withPort = { ...environment, DESKBELL_PORT: '9000' };
    assert.equal((await readConfiguration({ flags: {}, environment: withPort })).port, 9000);
    for (const wrong of [
      { DESKBELL_SERVICE_PORT: '80' },
      { DESKBELL_PORT: 'tcp://10.0.0.11:80' },
      { ...links, DESKBELL_SERVICE_HOSTS: 'x' },
      { ...links, DESKBELL_OTHER_PORT: '80' },
    ])
      await assert.rejects(readConfiguration({ flags: {}, environment: wrong }), {
        code: 'ERR_CONFIGURATION',
      });
  });

  test('what the environment says to the library is no entry', async () => {
    const environment = { DESKBELL_WEB_PUSH_TRANSPORT: 'node' };
    assert.deepEqual(
      await readConfiguration({ flags: {}, environment }),
      await readConfiguration({ flags: {}, environment: {} }),
    );
  });

  test('no error repeats the password of a URL, wherever the URL was given', async () => {
    const urls = [
      'https://ada:hunter2@hooks.example.org/x',
      'ftp://ada:hunter2@hooks.example.org/x',
      'https://ada:hun/ter2@[hooks',
      'https://hooks.example.org:x/hunter2',
      'postgres://ada:hunter2@host/push?sslmode=prefer',
    ];
    let refused = 0;
    for (const name of settingNames) {
      for (const url of urls) {
        if (url.includes(':x/') && name !== 'webhook') continue;
        const sources = [
          { flags: { [name]: url }, environment: {} },
          { flags: {}, environment: { [variableOf(name)]: url } },
          { flags: { config: await file({ [name]: url }) }, environment: {} },
          { flags: { config: await file({ [name]: [url] }) }, environment: {} },
          { flags: { config: await file(`{ "${name}": "${url}" ; }`) }, environment: {} },
          { flags: { config: await file(`{ "${name}": ${url} }`) }, environment: {} },
          { flags: { config: await file(`{ "${name}": hunter2 }`) }, environment: {} },
        ];
        for (const source of sources) {
          await readConfiguration(source).catch((error: Error) => {
            refused += 1;
            assert.doesNotMatch(error.message, /hun.?ter/, name);
          });
        }
      }
    }
    assert(refused > 500, `${refused}`);
  });

  test('paths in a file are taken from its folder, elsewhere they stay as they are', async () => {
    const config = await file({ data: 'data', ca: ['ca.pem', '/etc/ca.pem'], subscriberTokens: 'HS256' });
    const fromFile = await readConfiguration({ flags: { config }, environment: {} });
    assert.equal(fromFile.data, join(folder, 'data'));
    assert.deepEqual(fromFile.ca, [join(folder, 'ca.pem'), '/etc/ca.pem']);
    assert.equal(fromFile.subscriberTokens, 'HS256', 'which is no path');
    const fromFlag = await readConfiguration({ flags: { config, data: 'data' }, environment: {} });
    assert.equal(fromFlag.data, 'data');
  });

  test('lists are arrays in a file and joined by commas elsewhere', async () => {
    const pushServices = ['http://127.0.0.1:8090', 'https://push.example.org'];
    const config = await file({ pushServices, logging: [] });
    const fromFile = await readConfiguration({ flags: { config }, environment: {} });
    assert.deepEqual(fromFile.pushServices, pushServices);
    assert.deepEqual(fromFile.logging, []);
    const fromEnvironment = await readConfiguration({
      flags: { logging: 'action,filter' },
      environment: { DESKBELL_PUSH_SERVICES: `${pushServices.join(', ')}, ` },
    });
    assert.deepEqual(fromEnvironment.pushServices, pushServices);
    assert.deepEqual(fromEnvironment.logging, ['action', 'filter']);
  });

  test('an entry that takes a word or something else takes both', async () => {
    assert.equal((await readFlags({ registrationsPerMinute: 'off' })).registrationsPerMinute, 'off');
    assert.equal((await readFlags({ registrationsPerMinute: '10' })).registrationsPerMinute, 10);
    assert.equal((await readFlags({ authenticate: 'all' })).authenticate, 'all');
    assert.equal((await readFlags({ authenticate: 'none' })).authenticate, 'none');
    assert.deepEqual((await readFlags({ authenticate: 'get,post' })).authenticate, ['get', 'post']);
  });

  test('proxies to be trusted are addresses and ranges of both families', async () => {
    const trustProxy = '127.0.0.1,10.0.0.0/8,::1,fd00::/8';
    assert.deepEqual((await readFlags({ trustProxy })).trustProxy, trustProxy.split(','));
  });

  test('a switch is on when its flag stands alone, and can be turned off again', async () => {
    const environment = { DESKBELL_REDACT_SUBSCRIPTIONS: 'true' };
    const isRedacted = async (flags: Record<string, unknown>): Promise<boolean> =>
      (await readConfiguration({ flags, environment })).redactSubscriptions;
    assert.equal(await isRedacted({}), true);
    assert.equal(await isRedacted({ redactSubscriptions: 'false' }), false);
    assert.equal(await isRedacted({ redactSubscriptions: true }), true);
  });

  test('unknown entries and variables are refused with the list of valid ones', async () => {
    await refuses(
      { flags: { config: await file({ prot: 1 }) }, environment: {} },
      '"prot"',
      'deskbell.json',
      'port',
      'pushServices',
    );
    await refuses(
      { flags: {}, environment: { DESKBELL_PROT: '1' } },
      'DESKBELL_PROT',
      'DESKBELL_PUSH_SERVICES',
    );
    await refuses({ flags: { config: await file('{"__proto__": 1}') }, environment: {} }, '"__proto__"');
    await refuses({ flags: { config: await file({ constructor: 1 }) }, environment: {} }, '"constructor"');
  });

  test('values that are not valid are refused, naming the place, the value and what is valid', async () => {
    const wrong: readonly (readonly [string, unknown])[] = [
      ['port', '80a'],
      ['port', '-1'],
      ['port', '65536'],
      ['port', ''],
      ['port', '1e3'],
      ['port', 1.5],
      ['port', true],
      ['port', null],
      ['host', ''],
      ['host', 7],
      ['data', []],
      ['prefix', 'push'],
      ['prefix', '/push/'],
      ['prefix', '/:id'],
      ['logging', 'filter,all'],
      ['logging', [1]],
      ['logging', ['filter', '']],
      ['authenticate', 'get,all'],
      ['authenticate', {}],
      ['redactSubscriptions', 'yes'],
      ['redactSubscriptions', 1],
      ['maxSubscriptions', '0'],
      ['registrationsPerMinute', 'on'],
      ['pushServices', 'not a url'],
      ['pushServices', 'http://push.example.org/path'],
      ['subject', 'someone'],
      ['operator', '127.0.0.1'],
      ['trustProxy', 'nobody'],
      ['trustProxy', '10.0.0.0/33'],
      ['trustProxy', '10.0.0.0/8/8'],
    ];
    for (const [name, value] of wrong) {
      const setting = settings[name as keyof typeof settings];
      const config = await file({ [name]: value });
      await refuses({ flags: { config }, environment: {} }, `"${name}"`);
      if (typeof value !== 'string') continue;
      await refuses({ flags: { [name]: value }, environment: {} }, flagOf(name as keyof typeof settings));
      await refuses(
        { flags: {}, environment: { [variableOf(name as keyof typeof settings)]: value } },
        variableOf(name as keyof typeof settings),
        JSON.stringify(value),
        ...(['subject', 'pushServices', 'operator', 'trustProxy'].includes(name) ? [] : [setting.valid]),
      );
    }
  });

  test('a file that is missing, broken or not an object is refused', async () => {
    await assert.rejects(
      readConfiguration({ flags: { config: join(folder, 'none.json') }, environment: {} }),
      {
        code: 'ERR_FILE',
      },
    );
    for (const content of ['', '{', '[]', 'null', '"port"', '{"port": 1}}']) {
      await refuses({ flags: { config: await file(content) }, environment: {} }, 'deskbell.json');
    }
  });
});

async function refuses(
  sources: Parameters<typeof readConfiguration>[0],
  ...words: readonly string[]
): Promise<void> {
  await assert.rejects(readConfiguration(sources), (error) => {
    assert.ok(error instanceof DeskbellError);
    assert.equal(error.code, 'ERR_CONFIGURATION');
    for (const word of words) assert.ok(error.message.includes(word), `${error.message} names ${word}`);
    return true;
  });
}

const readFlags = (flags: Record<string, unknown>): ReturnType<typeof readConfiguration> =>
  readConfiguration({ flags, environment: {} });
