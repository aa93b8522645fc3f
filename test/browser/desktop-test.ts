// Runs tests in a browser on a desktop, where its notifications are real.
import { desktop as desktopPrograms, skipWithout, type Program } from '../../scripts/install-test-tools.ts';
import type { TestBrowser } from '../../tools/browser/test-browser.ts';
import { createBrowserTests } from './browser-test.ts';
import { type Desktop, startDesktop } from '../../tools/browser/desktop.ts';
import { until } from '../../tools/until.ts';

/** @param tool the browser's program */
export function createDesktopTests(
  what: string,
  tool: Program,
  start: (environment: NodeJS.ProcessEnv) => Promise<TestBrowser>,
) {
  // Its members are there when the first test runs.
  const desktop = {} as Desktop;
  const { furtherTest } = createBrowserTests(
    ['furtherTest'],
    async () => {
      Object.assign(desktop, await startDesktop(1200, 800));
      const testBrowser = await start(desktop.environment);
      return {
        ...testBrowser,
        async [Symbol.asyncDispose]() {
          await testBrowser[Symbol.asyncDispose]();
          await desktop[Symbol.asyncDispose]();
        },
      };
    },
    skipWithout(what, [tool, ...desktopPrograms]),
  );
  const untilShown = (count: number) =>
    until(
      async () => (await desktop.countNotifications()) === count,
      `${count} notifications on the desktop`,
    );
  return { furtherTest, desktop, untilShown };
}
