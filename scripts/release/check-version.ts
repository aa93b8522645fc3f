// Run first by the release workflow: the tag, the version, the changelog and the repository must fit together, or npm refuses the package at
// the end, or people get one that no entry of the changelog describes.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Release {
  /** Of package.json. */
  readonly version: string;
  /** Of package.json: npm compares it with the repository that its provenance names. */
  readonly repository: string | undefined;
  readonly changelog: string;
  /** The tag that the workflow runs for. */
  readonly tag: string;
  /** The repository that the workflow runs in, such as `owner/name`. */
  readonly builtIn: string;
}

/** What keeps the version from being published, in sentences. */
export function findVersionFaults({
  version,
  repository,
  changelog,
  tag,
  builtIn,
}: Release): readonly string[] {
  const address = `git+https://github.com/${builtIn}.git`;
  const isDescribed = changelog.split('\n').some((line) => `${line} `.startsWith(`## ${version} `));
  return [
    ...(tag === `v${version}` ? [] : [`The tag is ${tag}, and package.json has version ${version}.`]),
    ...(isDescribed ? [] : [`CHANGELOG.md has no section "## ${version}".`]),
    ...(repository === address
      ? []
      : [
          `"repository.url" in package.json is ${repository ?? 'missing'}. npm compares it with the provenance: set it to ${address}.`,
        ]),
  ];
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '../..');
  const { version, repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly version: string;
    readonly repository?: { readonly url?: string };
  };
  const faults = findVersionFaults({
    version,
    repository: repository?.url,
    changelog: readFileSync(join(root, 'CHANGELOG.md'), 'utf8'),
    tag: process.env['GITHUB_REF_NAME'] ?? 'missing',
    builtIn: process.env['GITHUB_REPOSITORY'] ?? 'missing',
  });
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
