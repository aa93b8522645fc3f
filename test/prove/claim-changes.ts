// All changes that break a requirement of the specification or a promise of the documentation, by what they break.
import { allPromises } from './all-promises.ts';
import { authentication } from './authentication.ts';
import { browser } from './browser.ts';
import { changesOfPromise } from './promise.ts';
import { sender } from './sender.ts';
import { service } from './service.ts';
import type { ClaimChanges } from './source-change.ts';

const promises: ClaimChanges = Object.fromEntries(
  Object.values(allPromises)
    .flat()
    .map((promise) => [promise.claim, changesOfPromise(promise)]),
);

export const claimChanges: ClaimChanges = {
  ...authentication,
  ...sender,
  ...service,
  ...browser,
  ...promises,
};
