// The page that lists each requirement of the specification with the test that shows it, and what the test is proved to notice.
import { readRequirements, type Requirement } from '../scripts/requirements.ts';
import { claimChanges } from '../test/prove/claim-changes.ts';
import type { Page } from './page.ts';

export async function conformancePage(): Promise<Page> {
  const markdown = render(await readRequirements());
  return { path: 'conformance.md', source: 'test/conformance', title: 'Conformance', markdown };
}

function render(all: readonly Requirement[]): string {
  const sections = [...Map.groupBy(all, ({ chapter }) => chapter)].map(([chapter, rows]) => {
    const lines = rows.map(({ claim, file }) => {
      const changes = (claimChanges[claim] ?? []).map(({ what }) => what).join('<br>');
      return `| ${claim} | \`${file}\` | ${changes} |`;
    });
    return `## ${chapter}\n\n| Requirement | Test | Fails when |\n| --- | --- | --- |\n${lines.join('\n')}\n`;
  });
  return `# Conformance

Each requirement of the specification, the test that shows it against the real service over a socket, and changes of the
source that this test is proved to notice. In the repository, \`node --test "test/conformance/*.test.ts"\` runs the tests, and
\`npm run prove\` makes each change of the last column in a copy of the source and expects its test to fail.

${sections.join('\n')}`;
}
