// The requirements of the specification, each with the test that shows it: the titles of the conformance suite, and
// those that are tested elsewhere. The site's page of conformance and `npm run prove` are made from this list.
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './repository.ts';

export interface Requirement {
  readonly chapter: string;
  readonly claim: string;
  /** The file that the test is written in, relative to the root. */
  readonly file: string;
  readonly test: NamedTest;
}

/** A test, or the tests of a suite. */
export interface NamedTest {
  /** The file that `node --test` is given, relative to the root. */
  readonly file: string;
  /** The title of the test or the suite, or the beginning of it. */
  readonly title: string;
}

const mechanisms = 'test/service/logging-mechanisms.test.ts';
const pageSuite = 'test/browser/demo-page-suite.ts';
/** What the page must do is written once for all browsers; one of them is enough to show that it is tested. */
const pageTest = 'test/browser/chromium.test.ts';

/** Only Firefox's push service can be one that a server does not admit. */
const firefoxTest = 'test/browser/firefox.test.ts';

const ofDemoPage = (chapter: string, claim: string, title: string): Requirement => ({
  chapter,
  claim,
  file: pageSuite,
  test: { file: pageTest, title },
});
const ofMechanisms = (claim: string, title: string): Requirement => ({
  chapter: 'Logging',
  claim,
  file: mechanisms,
  test: { file: mechanisms, title },
});
const notification = 'Desktop notification and events';

/** Requirements that are tested elsewhere: cell by cell, or in real browsers. */
const elsewhere: readonly Requirement[] = [
  ofDemoPage(
    'Resources and their fields',
    'The client sends three strings, p256dh and auth in standard base64 with padding',
    'the page sends three strings, p256dh and auth in standard base64 with padding',
  ),
  ofMechanisms(
    'What each mechanism can see is the table of the specification: 16 cells, each seen or not to be seen',
    'what each mechanism can see',
  ),
  ofMechanisms(
    'The order is the same where an action fails, the authenticator or CSRF refuses, or the client goes away',
    'stays the same where the action fails',
  ),
  ofDemoPage(
    notification,
    'The page gets the push message as a stream and shows it with title, body, tag and requireInteraction',
    'a message shows as a notification that stays, and in the open page',
  ),
  ofDemoPage(
    notification,
    'A notification with the same tag replaces the earlier one',
    'a second message replaces the notification of the first; the page lists both',
  ),
  ofDemoPage(
    notification,
    'The background worker receives the message, with no page open as well',
    'a message arrives with no page open',
  ),
  ofDemoPage(
    'Errors',
    'A failure to reach the server is written to the browser’s console',
    'a server that is down is told, also on the console; once it is up, the same button works',
  ),
  {
    chapter: 'Errors',
    claim: 'A refusal by the server is written to the browser’s console',
    file: firefoxTest,
    test: {
      file: firefoxTest,
      title: 'a refusal by the server is told with its reason, also on the console',
    },
  },
];

/**
 * Reads the titles of the conformance suite, and adds the requirements that are tested elsewhere.
 *
 * @throws {Error} a test that is named here is not there
 */
export async function readRequirements(): Promise<readonly Requirement[]> {
  for (const { file, test } of elsewhere) {
    const source = await readFile(join(root, file), 'utf8');
    if (!source.includes(test.title)) throw new Error(`${file} has no test "${test.title}".`);
  }
  return [...(await readConformanceSuite()), ...elsewhere];
}

async function readConformanceSuite(): Promise<Requirement[]> {
  const files: string[] = [];
  for await (const file of glob('test/conformance/*.test.ts', { cwd: root })) files.push(file);
  const found: Requirement[] = [];
  for (const file of files.sort()) {
    const source = await readFile(join(root, file), 'utf8');
    let chapter = '';
    for (const [, call, title = ''] of source.matchAll(/\b(describe|test)\(\s*'((?:[^'\\]|\\.)*)'/g)) {
      if (call === 'describe') chapter = title;
      else found.push({ chapter, claim: title, file, test: { file, title: `${chapter} ${title}` } });
    }
  }
  return found;
}
