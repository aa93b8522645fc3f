// Promises of docs/security.md.
import type { DocumentedPromise } from '../promise.ts';

const sessions = 'test/service/application-session.test.ts';

export const security: readonly DocumentedPromise[] = [
  {
    claim:
      "What a page of another site can send with the application's cookie reaches neither store nor hook",
    test: { file: sessions, title: 'what a page of another site can send with the cookie' },
    changes: {
      'src/http/json-body.ts': {
        'text is read as JSON': [
          'addParser(app, jsonType, parseJson);',
          "for (const type of [jsonType, 'text/plain']) addParser(app, type, parseJson);",
        ],
      },
    },
  },
  {
    claim: 'No answer allows credentials, though the application around the service does',
    test: { file: sessions, title: 'no answer allows credentials' },
    changes: {
      'src/service/cors.ts': {
        'what the application has set stays': ['reply.removeHeader(allowCredentials);', ''],
      },
      'src/service/create-middleware.ts': {
        'a redirect keeps what was set': ['response.removeHeader(allowCredentials);', ''],
      },
    },
  },
  {
    claim:
      'A rotation writes the pair to its file, then names it in the database, then makes it current; one that stops in between loses nothing, and the next completes it',
    test: { file: 'test/cli/rotate-keys.test.ts', title: 'a rotation' },
    changes: {
      'src/cli/data/key-rotation.ts': {
        'the database names the pair before there is a file': [
          'await addKeyPair(directory, made);',
          'await vapidKeys.prepare(made.publicKey); await addKeyPair(directory, made);',
        ],
        'the file of the current pair is replaced before services offer it': [
          'await vapidKeys.makeCurrent(next.publicKey);',
          'await copyCurrentPair(directory, next); await vapidKeys.makeCurrent(next.publicKey);',
        ],
        'a rotation makes another pair beside the one that was begun': [
          'if (begun !== undefined) return begun;',
          '',
        ],
        'a pair whose file is missing is not given up': [
          'if (known !== undefined) await vapidKeys.retire(known.publicKey, { force: true });',
          '',
        ],
        'the new pair is not made current': ['await vapidKeys.makeCurrent(next.publicKey);', ''],
      },
    },
  },
  {
    claim: 'An answer to a wrong request is short, however much is wrong with it',
    test: { file: 'test/operator/wrong-requests.test.ts', title: 'what is wrong with a request' },
    changes: {
      'src/http/problem.ts': {
        'pages of any length are sent': ['  boundErrors(app);\n', ''],
        'names of any length are shown': ['if (text.length <= maxCharacters)', 'if (text.length >= 0)'],
      },
      'src/http/validation.ts': {
        'every wrong field is named': ['.slice(0, maxFields)', ''],
      },
    },
  },
  {
    claim: 'No error repeats the password of a URL, wherever the URL was given',
    test: { file: 'test/cli/configuration.test.ts', title: 'no error repeats the password of a URL' },
    changes: {
      'src/errors/deskbell-error.ts': {
        'errors repeat it': ['super(hidePasswords(message), options)', 'super(message, options)'],
      },
      'src/cli/configuration/read-configuration.ts': {
        'a file that is no JSON is quoted': [
          'const [fault] = (cause as Error).message.split(/,? (?:\\.\\.\\.)?"/, 1);',
          'const fault = (cause as Error).message;',
        ],
      },
    },
  },
  {
    claim: 'A data directory, or a file in it, that belongs to another user is refused, by root too',
    test: { file: 'test/keys/owners.test.ts', title: 'what belongs to another user' },
    changes: {
      'src/keys/file-permissions.ts': {
        'the owner of the directory is not looked at': ['  assertOwned(directory, stats);', ''],
      },
      'src/keys/private-file.ts': {
        'the owner of a key file is not looked at': ['    assertOwned(path, stats);', ''],
      },
      'src/store/sqlite/database-file-checks.ts': {
        'the owner of the database is not looked at': ['  assertOwned(file, stats);', ''],
      },
    },
  },
  {
    claim:
      'What is compiled of the command is kept in the home directory, never below `/tmp`, and only where nobody else can write',
    test: { file: 'test/cli/compiled-code.test.ts', title: 'what is compiled of the command' },
    changes: {
      'src/cli/compiled-code.cts': {
        'it is kept where Node chooses': ['enableCompileCache(folder)', 'enableCompileCache()'],
        'nobody asks whose home it is': ['    if (!belongsToUs(statSync(home))) return;\n', ''],
        'nobody asks whose folder it is': ['if (belongsToUs(lstatSync(folder))) ', ''],
        'the owner is not looked at': ['uid === process.getuid() && ', ''],
        'the mode is not looked at': [' && (mode & 0o022) === 0', ''],
      },
    },
  },
  {
    claim: 'The check of the accelerator remembers nothing where another user can write',
    test: { file: 'test/accelerator/check-in-child.test.ts', title: 'a verdict is remembered' },
    changes: {
      'src/accelerator/check-in-child.ts': {
        'nobody asks whose home it is': ['    if (!belongsToUs(statSync(home))) return undefined;\n', ''],
        'nobody asks whose folder it is': ['belongsToUs(lstatSync(folder)) ? folder : undefined', 'folder'],
        'the owner is not looked at': ['uid === process.getuid() && ', ''],
        'the mode is not looked at': [' && (mode & 0o022) === 0', ''],
      },
    },
  },
  {
    claim: 'With `redactSubscriptions`, the log of `deskbell serve` has no endpoint and no keys',
    test: { file: 'test/cli/serve.test.ts', title: 'flags reach the service: limits, proxies' },
    changes: {
      'src/cli/commands/serve.ts': {
        'it has them': ["'logging', 'redactSubscriptions']", "'logging']"],
      },
    },
  },
];
