// The check of an addon in a process of its own.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const skip = process.getuid?.() === 0 ? false : 'Only root can become a user that nobody knows.';

test('a user without a home, as containers have, checks an addon as others do', { skip }, () => {
  const script = `
    process.setgroups([]);
    process.setuid(54321);
    const { findFaultInChild } = await import(process.argv[1]);
    console.log(findFaultInChild(process.argv[2]));
  `;
  const module = new URL('../../src/accelerator/check-in-child.ts', import.meta.url).href;
  const notAnAddon = new URL('../../package.json', import.meta.url).pathname;
  const words = ['--input-type=module', '--eval', script, module, notAnAddon];
  const { HOME: _, ...env } = process.env;
  const { stdout, stderr } = spawnSync(process.execPath, words, { env, encoding: 'utf8' });
  assert.doesNotMatch(stderr, /ERR_SYSTEM_ERROR/);
  assert.match(stdout, /^it failed: /);
});
