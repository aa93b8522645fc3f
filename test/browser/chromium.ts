// Starts the installed Chromium, told to use a local stand-in for its push transport.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, launch } from 'puppeteer-core';
import { chromium, find } from '../../scripts/install-browsers.ts';

/** @param transportArguments what points Chromium at the stand-in */
export async function launchChromium(
  transportArguments: readonly string[],
  { isHeadless = true, furtherArguments = [] as readonly string[] } = {},
): Promise<Browser> {
  // Push needs a profile on disk: Chromium refuses it off the record.
  const userDataDir = await mkdtemp(join(tmpdir(), 'deskbell-chromium-'));
  const browser = await launch({
    executablePath: find(chromium)!,
    headless: isHeadless,
    userDataDir,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--host-resolver-rules=MAP insecure.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost',
      ...transportArguments,
      ...furtherArguments,
    ],
  });
  browser
    .process()
    ?.once('exit', () => void rm(userDataDir, { recursive: true, force: true, maxRetries: 5 }));
  return browser;
}
