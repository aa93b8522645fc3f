// All changes that break a requirement of the specification, by what they break.
import { authentication } from './authentication.ts';
import { browser } from './browser.ts';
import { sender } from './sender.ts';
import { service } from './service.ts';
import type { ClaimChanges } from './source-change.ts';

export const claimChanges: ClaimChanges = { ...authentication, ...sender, ...service, ...browser };
