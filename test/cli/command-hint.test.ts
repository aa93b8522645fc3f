// Commands that are suggested repeat the options in use, quoted for the shell.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCommandHint } from '../../src/cli/output/command-hint.ts';

test('flags and variables that delivering needs are repeated; a flag wins over its variable', () => {
  const hint = createCommandHint(
    {
      invocation: 'npx deskbell',
      environment: {
        DESKBELL_SUBJECT: 'mailto:a@example.org',
        DESKBELL_THREADS: '2',
        DESKBELL_CONFIG: '/etc/deskbell.json',
        DESKBELL_PORT: '80',
      },
    },
    { data: '/srv/my data', threads: '4', title: 'Hello', json: true },
  );
  assert.equal(
    hint('broadcasts resume 7'),
    "npx deskbell broadcasts resume 7 --data '/srv/my data' --subject mailto:a@example.org --threads 4 --config /etc/deskbell.json",
  );
});

test('without options there is nothing to repeat', () => {
  assert.equal(
    createCommandHint({ invocation: 'deskbell', environment: {} }, {})('worker'),
    'deskbell worker',
  );
});
