// A reporter for Stryker that sends each result to the process that has started Stryker, which may end it at any time.
import type { Stryker } from '@stryker-mutator/core';

export type MutantResult = Awaited<ReturnType<Stryker['runMutationTest']>>[number];

export type Report = { readonly planned: number } | { readonly result: MutantResult };

class SendingReporter {
  onMutationTestingPlanReady({ mutantPlans }: { readonly mutantPlans: readonly unknown[] }): void {
    send({ planned: mutantPlans.length });
  }

  onMutantTested(result: MutantResult): void {
    send({ result });
  }
}

function send(report: Report): void {
  process.send!(report);
}

export const strykerPlugins = [{ kind: 'Reporter', name: 'sending', injectableClass: SendingReporter }];
