// The README is one screen and a half, names the commands of a clone, and no command of it needs what is not there yet.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { root } from '../../scripts/repository.ts';
import { pages } from './pages.ts';

const { text } = pages.find(({ path }) => path === 'README.md')!;
const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly name: string;
  readonly version: string;
};

suite('the README', () => {
  test('is short', () => {
    const lines = text.split('\n').length;
    assert.ok(lines <= 100 && text.length <= 5600, `${lines} lines, ${text.length} characters`);
  });

  test('names the commands that show and test a clone', () => {
    for (const command of ['npm ci && npm run demo', 'npm ci && npm test'])
      assert.ok(text.includes(command), command);
  });

  test('installs the file that npm pack makes, and nothing from npm that is not published', () => {
    const packages = Array.from(
      text.matchAll(/npm (?:install|exec)(?: --?\w+)* ([^`\s]+)|npx (\S+)/g),
      (match) => (match[1] ?? match[2])!,
    );
    assert.ok(packages.includes(`./${name}-${version}.tgz`), packages.join());
    assert.deepEqual(
      packages.filter((each) => each.startsWith(name)),
      [],
    );
  });

  test('has the line of curl that docs/any-language.md explains', () => {
    const guide = pages.find(({ path }) => path === 'docs/any-language.md')!.text;
    const [line = ''] = /^curl .*$/m.exec(text) ?? [];
    assert.match(line, /\/v1\/messages\?user=me/);
    assert.ok(guide.includes(line), line);
  });

  test('has the figures of the chart', () => {
    const chart = readFileSync(join(root, 'docs/images/send-chart.svg'), 'utf8');
    const figures = Array.from(text.matchAll(/\d+ µs/g), ([figure]) => figure);
    assert.equal(figures.length, 3);
    assert.deepEqual(
      figures.filter((figure) => !chart.includes(`>${figure}`)),
      [],
    );
    // "times less" is the quotient of the figures beside it
    const [, reference] = /as it comes<.*?>(\d+) µs</.exec(chart) ?? [];
    const quotients = Array.from(chart.matchAll(/>(\d+) µs, ([\d.]+) × less</g), ([, own, times]) => [
      (Number(reference) / Number(own)).toFixed(1),
      times,
    ]);
    assert.equal(quotients.length, 3);
    for (const [quotient, times] of quotients) assert.equal(times, quotient);
  });
});
