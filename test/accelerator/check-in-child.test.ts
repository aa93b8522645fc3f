// The check of an addon in a process of its own.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fastFolder } from '../../tools/fast-folder.ts';

const module = new URL('../../src/accelerator/check-in-child.ts', import.meta.url).href;
const notAnAddon = new URL('../../package.json', import.meta.url).pathname;
const skip = process.getuid?.() === 0 ? false : 'Only root can become a user that nobody knows.';

test('a user without a home, as containers have, checks an addon as others do', { skip }, () => {
  const script = `
    process.setgroups([]);
    process.setuid(54321);
    const { findFaultInChild } = await import(process.argv[1]);
    console.log(findFaultInChild(process.argv[2]));
  `;
  const words = ['--input-type=module', '--eval', script, module, notAnAddon];
  const { HOME: _, ...env } = process.env;
  const { stdout, stderr } = spawnSync(process.execPath, words, { env, encoding: 'utf8' });
  assert.doesNotMatch(stderr, /ERR_SYSTEM_ERROR/);
  assert.match(stdout, /^it cannot be loaded: /);
});

test(
  'a verdict is remembered in the home of the process’s user, and not by root where somebody else can write',
  { skip },
  () => {
    const home = mkdtempSync(join(fastFolder(), 'deskbell-home-'));
    const folder = join(home, '.cache/deskbell');
    try {
      const check = () => {
        const script =
          'const { findFaultInChild } = await import(process.argv[1]); findFaultInChild(process.argv[2])';
        const words = ['--input-type=module', '--eval', script, module, notAnAddon];
        assert.equal(spawnSync(process.execPath, words, { env: { HOME: home } }).status, 0);
        return readdirSync(folder).length > 0;
      };
      mkdirSync(folder, { recursive: true });
      for (const path of [home, join(home, '.cache'), folder]) {
        chownSync(path, 65_534, 65_534);
        assert.equal(check(), false, `${path} of another user`);
        chownSync(path, 0, 0);
        chmodSync(path, 0o720);
        assert.equal(check(), false, `${path} that others can write to`);
        chmodSync(path, 0o700);
      }
      assert.equal(check(), true);
    } finally {
      rmSync(home, { recursive: true });
    }
  },
);
