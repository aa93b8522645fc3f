// Writes docs/conformance.md: each requirement of the specification and each promise of the documentation, the test that
// shows it, and the changes of the source that the test is shown to notice. With --check it writes nothing and fails where
// the page differs. It always fails where a change does not apply to the source any more.
import { claimChanges } from '../test/prove/claim-changes.ts';
import { findGaps, findStale, toProofs } from './prove/proofs.ts';
import { readRequirements, type Requirement } from './requirements.ts';
import { writePage } from './write-page.ts';

const requirements = await readRequirements();
await writePage('docs/conformance.md', render(requirements));

const stale = await findStale(requirements.flatMap(toProofs));
for (const fault of [...findGaps(requirements), ...stale.values()]) {
  console.error(`test/prove/: ${fault}`);
  process.exitCode = 1;
}

function render(all: readonly Requirement[]): string {
  const sections = [...Map.groupBy(all, ({ chapter }) => chapter)].map(([chapter, rows]) => {
    const lines = rows.map(({ claim, file }) => {
      const changes = (claimChanges[claim] ?? []).map(({ what }) => what).join('<br>');
      return `| ${claim} | \`${file}\` | ${changes} |`;
    });
    return `## ${chapter}\n\n| Claim | Test | Fails when |\n| --- | --- | --- |\n${lines.join('\n')}\n`;
  });
  return `# Conformance

Made from the titles of the conformance suite and from \`test/prove/promises/\` by \`scripts/generate-conformance.ts\`; do not edit.

Each requirement of the specification, the test that shows it against the real service over a socket, and what the test
is proved to notice. Run the tests with \`node --test "test/conformance/*.test.ts"\`. Then, by page, promises of this documentation
that go beyond the specification. \`npm run prove\` makes each change of the last column in a copy of the source, runs the test, and
fails where the test still passes. A test of a suite in \`test/store/\` runs on SQLite and on PostgreSQL.

${sections.join('\n')}`;
}
