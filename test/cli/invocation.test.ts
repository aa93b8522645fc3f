// What to type into another terminal for the command that runs now.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invocationOf, quote } from '../../src/cli/output/command-hint.ts';

const invocations: readonly (readonly [what: string, node: string, file: string, typed: string])[] = [
  ['installed for all', '/usr/bin/node', '/usr/local/bin/deskbell', 'deskbell'],
  ['installed in the folder', '/usr/bin/node', '/home/me/app/node_modules/.bin/deskbell', 'npx deskbell'],
  [
    'from the sources',
    '/home/me/app/node_modules/node/bin/node',
    '/home/me/app/src/cli/main.cts',
    '/home/me/app/node_modules/node/bin/node /home/me/app/src/cli/main.cts',
  ],
  [
    'from elsewhere, with a space',
    '/usr/bin/node',
    '/home/you and me/main.js',
    "/usr/bin/node '/home/you and me/main.js'",
  ],
];

for (const [what, node, file, typed] of invocations) {
  test(`a command ${what} is called as ${typed}`, () => {
    assert.equal(invocationOf([node, file], '/home/me/app'), typed);
  });
}

test('a word for the shell is quoted where it needs to be', () => {
  assert.equal(quote('/tmp/deskbell-demo-x1/deskbell.json'), '/tmp/deskbell-demo-x1/deskbell.json');
  assert.equal(quote("it's"), String.raw`'it'\''s'`);
});
