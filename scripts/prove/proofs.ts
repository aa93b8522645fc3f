// What is to be proved: each change of the source with the claim that it breaks and the test that has to notice it.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { claimChanges } from '../../test/prove/claim-changes.ts';
import type { SourceChange } from '../../test/prove/source-change.ts';
import { root } from '../repository.ts';
import type { NamedTest, Requirement } from '../requirements.ts';
import { applyChange } from './working-copy.ts';

export interface Proof {
  readonly chapter: string;
  readonly claim: string;
  readonly change: SourceChange;
  readonly test: NamedTest;
}

export function toProofs({ chapter, claim, test }: Requirement): Proof[] {
  return (claimChanges[claim] ?? []).map((change) => ({ chapter, claim, change, test: change.test ?? test }));
}

/** Claims without a change, and changes without a claim. */
export function findGaps(all: readonly Requirement[]): string[] {
  const claims = new Set(all.map(({ claim }) => claim));
  return [
    ...[...claims]
      .filter((claim) => !claimChanges[claim]?.length)
      .map((claim) => `No change breaks this claim: ${claim}`),
    ...Object.keys(claimChanges)
      .filter((claim) => !claims.has(claim))
      .map((claim) => `No claim has this title: ${claim}`),
  ];
}

/** Those whose text the source does not have exactly once, with what is wrong. */
export async function findStale(all: readonly Proof[]): Promise<ReadonlyMap<Proof, string>> {
  const found = new Map<Proof, string>();
  for (const proof of all) {
    const { claim, change } = proof;
    try {
      applyChange(await readFile(join(root, change.file), 'utf8'), change);
    } catch (error) {
      found.set(proof, `${claim}: ${change.what}: ${(error as Error).message}`);
    }
  }
  return found;
}
