// The pictures of docs/images show the pages as they are: the hash of each page's HTML and style sheets is the one that was kept beside
// its picture. `npm run pictures` makes both again.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { folder, hashesFile, hashOfDemoPage, hashOfPage, shownPages } from '../../scripts/pictures/pages.ts';
import { openShownStore } from '../../scripts/pictures/shown-store.ts';
import { Cleanup, startConsole } from '../browser/console-site.ts';
import { createVisitor } from '../operator/console-visitor.ts';

test('each picture is of the page as it is now', async () => {
  const kept = JSON.parse(readFileSync(hashesFile, 'utf8')) as Record<string, string>;
  assert.deepEqual(Object.keys(kept).sort(), globSync('*.png', { cwd: folder }).sort());
  await using cleanup = new Cleanup();
  const stage = await openShownStore(4000);
  cleanup.after(stage.remove);
  const site = await startConsole(cleanup, stage.store, stage.sender);
  const visitor = createVisitor({ base: site.url });
  await visitor.open('/console/sign-in');
  await visitor.submit('/console/sign-in', { token: site.token });
  const now: Record<string, string> = { 'notification.png': hashOfDemoPage() };
  for (const { name, path } of shownPages(stage.ids))
    now[`console-${name}.png`] = await hashOfPage(path, async (each) => (await visitor.open(each)).html);
  assert.deepEqual(now, kept, 'run: npm run pictures');
});
