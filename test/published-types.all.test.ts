// The types of the packed package, as strict applications compile against them: no file of types is skipped, and what the
// package only needs for PostgreSQL or metrics is not installed.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { Project } from './journeys/project.ts';
import { program } from './packed-program.ts';
import { pack } from '../tools/pack.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const read = (path: string): Promise<string> => readFile(join(root, path), 'utf8');

const { devDependencies, exports: entries } = JSON.parse(await read('package.json')) as {
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, unknown>>;
};
const pinned = (name: string): string => `${name}@${devDependencies[name]}`;

const isForBrowsers = (path: string): boolean =>
  /^\.\/(?:client|react|service-worker|subscribe)\b/.test(path);
const importAll = (paths: readonly string[]): string =>
  paths.map((path, index) => `export * as entry${index} from '${path.replace('.', 'deskbell')}';\n`).join('');
const typed = Object.keys(entries).filter((path) => path !== './package.json');

const required = `
import webPush = require('deskbell/web-push');
import type { Subscription } from 'deskbell';
export async function notify({ endpoint }: Subscription, keys: webPush.PushSubscription['keys']): Promise<number> {
  const options: webPush.RequestOptions = { TTL: 60 };
  const result: webPush.SendResult = await webPush.sendNotification({ endpoint, keys }, 'text', options);
  return result.statusCode;
}
`;

/** Theirs says that the public key is text, and it is a buffer. */
const isDifferent = new Set(['EncryptionResult']);
/** Ours has more options, and knows that a proxy may be an object. */
const isWiderThanTheirs = new Set([
  ...isDifferent,
  'HttpsProxyAgentOptions',
  'RequestOptions',
  'RequestDetails',
]);

/** As TypeScript compiles it to CommonJS, in which there is no `await` outside of functions. */
const compiledToCommonJs = `
import { createSender, DeskbellError, type Sender } from 'deskbell';
import { createService } from 'deskbell/service';
import { generateVapidKeys, type VapidKeys } from 'deskbell/protocol';
import { startPushService } from 'deskbell/push-service';
import webPush, { sendNotification, type RequestOptions } from 'deskbell/web-push';
import * as allOfWebPush from 'deskbell/web-push';
const keys: VapidKeys = generateVapidKeys();
const options: RequestOptions = { TTL: 60, vapidDetails: { subject: 'mailto:a@example.org', ...webPush.generateVAPIDKeys() } };
export const sender: Sender = createSender({ vapid: { ...keys, subject: 'mailto:push@example.org' } });
export const result: Promise<webPush.SendResult> = allOfWebPush.sendNotification({ endpoint: '', keys: { p256dh: '', auth: '' } }, '', options);
export const used = [createService, startPushService, sendNotification, DeskbellError];
`;

/** Kinds of applications: what their files are, and the libraries and types that they have. */
const applications = [
  {
    name: 'an application with every entry',
    files: { 'program.ts': program, 'all.ts': importAll(typed), 'in-commonjs.cts': required },
    lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: ['node'],
  },
  {
    name: 'a server without the types of browsers',
    files: {
      'server.ts': importAll(typed.filter((path) => !isForBrowsers(path))),
      'web-push.ts': await read('test/web-push/typed-application.ts'),
      'original.ts': compareWithOriginal(await read('node_modules/@types/web-push/index.d.ts')),
    },
    lib: ['es2022'],
    types: ['node'],
  },
  {
    name: 'a page without the types of Node',
    files: { 'page.ts': importAll(typed.filter(isForBrowsers)) },
    lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: [],
  },
];

/** By the names of their packages in the repository: TypeScript 5.9 and 7. */
const compilers = ['typescript-5', 'typescript'];
const newResolutions = [
  { moduleResolution: 'nodenext', module: 'nodenext' },
  { moduleResolution: 'bundler', module: 'preserve' },
];
/** Each also in a package that is CommonJS; TypeScript 7 has none of them. */
const oldResolutions = [
  { moduleResolution: 'node10', module: 'commonjs', esModuleInterop: true },
  { moduleResolution: 'node16', module: 'node16' },
  { moduleResolution: 'node16', module: 'node18' },
];

const settings = [
  ...compilers.flatMap((compiler) =>
    newResolutions.map((resolution) => ({ compiler, resolution, applications })),
  ),
  ...oldResolutions.map((resolution) => ({
    compiler: 'typescript-5',
    resolution,
    applications: [
      {
        name: 'an application that is compiled to CommonJS',
        files: {
          [resolution.module === 'commonjs' ? 'compiled.ts' : 'compiled.cts']: compiledToCommonJs,
          'in-commonjs.cts': required,
        },
        lib: ['es2022', 'dom'],
        types: ['node'],
      },
      ...(resolution.module === 'commonjs' ? [] : [applications[1]!]),
    ],
  })),
];

const cases = settings.flatMap(({ compiler, resolution, applications: compiled }) =>
  compiled.map(({ name, files, lib, types }, index) => ({
    title: `${name} compiles with the package "${compiler}" and the module kind "${resolution.module}"`,
    compiler,
    config: `tsconfig.${compiler}-${resolution.module}-${index}.json`,
    sources: files,
    files: Object.keys(files),
    compilerOptions: {
      ...resolution,
      target: 'es2022',
      lib,
      types,
      strict: true,
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,
      noEmit: true,
    },
  })),
);

suite('the types of the packed package', () => {
  let folder: string;
  let project: Project;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'deskbell-packed-'));
    project = await Project.create();
    await project.install(
      await pack(),
      pinned('@types/node'),
      pinned('@types/web-push'),
      pinned('@types/react'),
    );
    for (const { config, compilerOptions, files, sources } of cases) {
      for (const [file, text] of Object.entries(sources)) await project.write(file, text);
      await project.write(config, JSON.stringify({ compilerOptions, files }));
    }
  });
  after(async () => {
    await project[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  });

  test('are compiled without optional packages and their types', () => {
    for (const name of ['pg', '@types/pg', '@prometheus-io/client', 'express', '@types/express']) {
      assert.ok(!existsSync(join(project.folder, 'node_modules', name)), name);
    }
  });

  const compile = (compiler: string, ...words: readonly string[]) =>
    run(process.execPath, [join(root, 'node_modules', compiler, 'bin/tsc'), ...words], {
      cwd: project.folder,
    });

  /** All cases of a compiler in one process, which reads each file of types once. @returns whether all compile */
  const compileAll = (compiler: string): Promise<boolean> =>
    compile(
      compiler,
      '--build',
      ...cases.filter((other) => other.compiler === compiler).map(({ config }) => config),
    ).then(
      () => true,
      () => false,
    );
  const compiled = new Map<string, Promise<boolean>>();

  for (const { title, compiler, config } of cases) {
    test(title, async () => {
      if (!compiled.has(compiler)) compiled.set(compiler, compileAll(compiler));
      if (await compiled.get(compiler)) return;
      // which of them does not, and why
      await compile(compiler, '--project', config).catch(({ stdout }: { stdout: string }) =>
        assert.fail(stdout),
      );
    });
  }
});

/**
 * A program that does not compile where a name of `@types/web-push` is missing in ours, or where a value of one type cannot
 * take the place of the other.
 *
 * @param declarations the text of their declarations
 */
function compareWithOriginal(declarations: string): string {
  const names = Array.from(
    declarations.matchAll(/^export (interface|type|class|function|const) (\w+)/gm),
    ([, kind, name]) => ({ kind: kind!, name: name! }),
  );
  assert.ok(names.length > 20, 'they are found');
  const lines = names.flatMap(({ kind, name }, index) => {
    const value = `export const value${index} = [ours.${name}, webPush.${name}];`;
    if (kind === 'function' || kind === 'const') return [value];
    const accepted = `export const accept${index} = (value: theirs.${name}): webPush.${name} => value;`;
    const given = `export const give${index} = (value: webPush.${name}): theirs.${name} => value;`;
    return [
      `export type Named${index} = ours.${name};`,
      ...(isWiderThanTheirs.has(name) ? [] : [given]),
      ...(isDifferent.has(name) ? [] : [accepted]),
      ...(kind === 'class' ? [value] : []),
    ];
  });
  const imports = [
    "import type * as theirs from 'web-push';",
    "import * as ours from 'deskbell/web-push';",
    "import webPush from 'deskbell/web-push';",
  ];
  return [...imports, ...new Set(lines)].join('\n');
}
