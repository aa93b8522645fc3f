// Whether an option is a store: a data directory has one, and what opens either gives a promise of it.
import { hasMethods } from '../errors/check-options.ts';

export const isStore = hasMethods('a store, such as that of a data directory', ['now', 'check', 'close']);
