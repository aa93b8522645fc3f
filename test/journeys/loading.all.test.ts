// The packed package in other people's tools: each builds or loads one of the applications in `applications/` without configuration,
// and the application registers a browser, sends and broadcasts. The tools are those that applications/package.json pins.
import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { startPushService, type PushService } from '../../src/push-service/index.ts';
import { freePort } from '../../tools/listening.ts';
import { pack } from '../../tools/pack.ts';
import { useSharedServer } from '../../tools/postgres-server.ts';
import { until } from '../../tools/until.ts';
import { Project } from './project.ts';

const applications = join(import.meta.dirname, 'applications');
/** As many as threads are started for. */
const rows = 2000;
const manyRows = 10_000;

/** All of it has worked; one copy of each class is in the process, however it was loaded. */
const whole = { registered: 200, sent: 'accepted', webPush: 201, isOneClass: true };
const withThreads: readonly RegExp[] = [];
/** Said once, although each application broadcasts twice. */
const inMainThread = [/^Messages are sent in the main thread and encrypted with Node's builtins/];
/** The accelerator is for Node. */
const onBuiltins = [/^Encrypting with Node's builtins: /];

interface Journey {
  readonly name: string;
  /** In `applications/`. */
  readonly folder?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly build?: string;
  /** Prints what came of it, and ends; or answers at `path`. */
  readonly run: string;
  /** Of a route that answers what came of it. */
  readonly path?: string;
  /** Whether its page has a form that does the same. */
  readonly hasForm?: boolean;
  readonly warnings: readonly RegExp[];
  readonly rows?: number;
}

const next = (name: string, flags: string, configuration: object, warnings: readonly RegExp[]): Journey => ({
  name: `Next.js with ${name}`,
  environment: { CONFIGURATION: JSON.stringify(configuration), NEXT_TELEMETRY_DISABLED: '1' },
  build: `rm -rf .next && next build ${flags}`,
  run: 'output' in configuration ? 'node .next/standalone/server.js' : 'next start',
  path: '/push',
  hasForm: true,
  warnings,
});
const standalone = { output: 'standalone' };
const external = { serverExternalPackages: ['deskbell'] };

const journeys: readonly Journey[] = [
  next('Turbopack', '', {}, inMainThread),
  next('Turbopack, standalone', '', standalone, inMainThread),
  next('Turbopack, standalone, with the line for threads', '', { ...standalone, ...external }, withThreads),
  next('webpack', '--webpack', {}, inMainThread),
  next('webpack, standalone', '--webpack', standalone, inMainThread),
  next(
    'webpack, standalone, with the line for threads',
    '--webpack',
    { ...standalone, ...external },
    withThreads,
  ),
  {
    name: 'Nitro',
    folder: 'nitro',
    build: 'nitropack build',
    run: 'node .output/server/index.mjs',
    path: '/push',
    warnings: withThreads,
  },
  {
    name: 'SvelteKit with its Node adapter',
    folder: 'sveltekit',
    build: 'vite build',
    run: 'node build/index.js',
    path: '/push',
    warnings: withThreads,
  },
  {
    name: 'Vite, for a server',
    build: 'vite build --ssr main.ts --outDir external',
    run: 'node external/main.js',
    warnings: withThreads,
  },
  {
    name: 'Vite, for a server, in one file',
    build: 'vite build --config bundled.mjs --ssr main.ts --outDir bundled',
    run: 'node bundled/main.js',
    warnings: inMainThread,
  },
  {
    name: 'esbuild, into one file',
    build: 'esbuild main.ts --bundle --platform=node --outfile=one/main.cjs',
    run: 'node one/main.cjs',
    warnings: inMainThread,
  },
  { name: 'Bun', run: 'bun main.ts', warnings: onBuiltins, rows: manyRows },
  { name: 'Deno', run: 'deno run --allow-all main.ts', warnings: onBuiltins, rows: manyRows },
];

suite('the packed package in other tools', () => {
  let project: Project;
  let pushService: PushService;
  let environment: Readonly<Record<string, string>>;
  const getPostgres = useSharedServer();

  before(async () => {
    pushService = await startPushService({ tls: true });
    project = await Project.create();
    await cp(applications, project.folder, { recursive: true });
    const { dependencies } = JSON.parse(await readFile(join(applications, 'package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>;
    };
    await project.install(await pack(), ...Object.entries(dependencies).map((pin) => pin.join('@')));
    const ca = join(project.folder, 'ca.pem');
    await writeFile(ca, [pushService.ca].flat().join('\n'));
    // Next.js takes no home directory for a project
    const HOME = join(project.folder, 'home');
    environment = { HOME, NODE_EXTRA_CA_CERTS: ca, DENO_CERT: ca, NO_COLOR: '1' };
  });
  after(async () => {
    await project[Symbol.asyncDispose]();
    await pushService.close();
  });

  /** @returns what came of it, as the application has printed or answered it */
  async function use(journey: Journey, database: string, count: number): Promise<readonly unknown[]> {
    const { folder = '.', path, hasForm, run } = journey;
    const sinks = join(project.folder, 'sinks.json');
    const { origin, ca } = pushService;
    await writeFile(sinks, JSON.stringify({ origin, ca, sinks: [...pushService.createSinks(count)] }));
    const PORT = String(await freePort());
    const app = project.within(folder, {
      ...environment,
      ...journey.environment,
      PUSH_SERVICE: sinks,
      DATA: await mkdtemp(join(project.folder, 'data-')),
      DATABASE: database,
      PORT,
      HOST: '127.0.0.1',
      HOSTNAME: '127.0.0.1',
    });
    if (path === undefined) return [JSON.parse((await app.run(run)).trim().split('\n').at(-1)!)];
    await using running = app.start(run);
    const url = `http://127.0.0.1:${PORT}`;
    // it rejects if the application ends
    await Promise.race([running.waitFor(/(?!)/), until(() => answers(url), 'the application')]);
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(new URL(path, url), { method: 'POST', headers, body: '{}' });
    const routed = await answer.text();
    assert.equal(answer.status, 200, routed);
    return [JSON.parse(routed), ...(hasForm ? [await submit(url)] : [])];
  }

  for (const journey of journeys) {
    test(journey.name, async (t) => {
      const { folder = '.', build, warnings, rows: count = rows } = journey;
      const app = project.within(folder, { ...environment, ...journey.environment });
      if (build !== undefined) await app.run(build);
      const postgres = await (await getPostgres()).createDatabase();
      for (const [name, database] of [
        ['SQLite', ''],
        ['PostgreSQL', postgres.url],
      ] as const) {
        await t.test(`with ${name}`, async () => {
          for (const result of await use(journey, database, count)) {
            const { warnings: given, ...rest } = result as { readonly warnings: readonly string[] };
            assert.deepEqual(rest, { ...whole, accepted: [count, count] });
            assert.equal(given.length, warnings.length, given.join('\n'));
            for (const [index, warning] of warnings.entries()) assert.match(given[index]!, warning);
          }
        });
      }
    });
  }

  for (const [name, line] of [
    [
      'Jest requires it, and its functions and modules are replaced',
      'jest --rootDir jest --config jest/jest.config.json',
    ],
    ['Vitest imports it, and its functions and modules are replaced', 'vitest run'],
    ['the module mocks of node:test replace it', 'node --test --experimental-test-module-mocks mocks.mjs'],
    ['publint has no complaint', 'publint run node_modules/deskbell --strict'],
    [
      'Are the types wrong? has no complaint',
      'attw deskbell.tgz --no-color --exclude-entrypoints ./service-worker.js',
    ],
  ] as const) {
    test(name, async () => {
      await cp(await pack(), join(project.folder, 'deskbell.tgz'));
      const { origin, ca } = pushService;
      const sinks = join(project.folder, 'sinks.json');
      await writeFile(sinks, JSON.stringify({ origin, ca, sinks: [...pushService.createSinks(rows)] }));
      const DATA = await mkdtemp(join(project.folder, 'data-'));
      await project.within('.', { ...environment, PUSH_SERVICE: sinks, DATA }).run(line);
    });
  }

  for (const [name, runtime] of [
    ['Bun', 'bun'],
    ['Deno', 'deno run --allow-all'],
  ] as const) {
    test(`the command serves and delivers on ${name}`, async (t) => {
      const postgres = await (await getPostgres()).createDatabase();
      for (const [database, flags] of [
        ['SQLite', ''],
        ['PostgreSQL', ` --database ${postgres.url}`],
      ] as const) {
        await t.test(`with ${database}`, async () => {
          const data = await mkdtemp(join(project.folder, 'data-'));
          const command = `${runtime} node_modules/deskbell/dist/cli/main.cjs`;
          const subject = '--subject mailto:push@example.org';
          const common = `--data ${data} --push-services ${pushService.origin}${flags}`;
          const there = project.within('.', environment);
          await using service = there.start(
            `${command} serve --push-only --deliver --port 0 ${subject} ${common}`,
          );
          const [, url = ''] = await service.waitFor(/listens on (http\S+)/);
          const key = (await (await fetch(new URL('/vapidKey', url))).json()) as string;
          const { value } = pushService.createSinks(1)[Symbol.iterator]().next() as {
            readonly value: { readonly endpoint: string; readonly p256dh: string; readonly auth: string };
          };
          const { endpoint, ...keys } = value;
          const registered = await fetch(new URL('/webPush', url), {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'deskbell-vapid-key': key },
            body: JSON.stringify({ endpoint, keys }),
          });
          assert.equal(registered.status, 200);
          const list = `${command} broadcasts list --data ${data}${flags}`;
          await there.run(`${command} send --all --detach --title Hello --message Tea ${subject} ${common}`);
          await until(
            async () => /^ +1 +done +\S+ +1 +1 /m.test(await there.run(list)),
            'the broadcast to be done',
          );
        });
      }
    });
  }
});

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  );

/** Submits the page's form as a browser without scripts does. @returns what came of the action */
async function submit(url: string): Promise<unknown> {
  const page = await (await fetch(url)).text();
  const [, action = ''] = /name="(\$ACTION_ID_\w+)"/.exec(page) ?? [];
  const body = new FormData();
  body.set(action, '');
  const answer = await (await fetch(url, { method: 'POST', body, headers: { origin: url } })).text();
  const [, output = ''] = /<output>(.+?)<\/output>/.exec(answer) ?? [];
  return JSON.parse(output.replaceAll('&quot;', '"').replaceAll('&#x27;', "'").replaceAll('&amp;', '&'));
}
