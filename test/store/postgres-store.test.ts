// The store in PostgreSQL: what every store must do; `postgres-store.all.test.ts` has the rest.
import { describeBroadcasts } from './broadcast-suite.ts';
import { describeInvitations } from './invitations-suite.ts';
import { describePushServices } from './push-services-suite.ts';
import { describeRegistrations } from './registration-suite.ts';
import { describeStore } from './store-suite.ts';
import { preparePostgres } from './postgres-under-test.ts';

const prepare = preparePostgres();

describeStore('PostgreSQL', prepare);
describeBroadcasts('PostgreSQL', prepare);
describePushServices('PostgreSQL', prepare);
describeRegistrations('PostgreSQL', prepare);
describeInvitations('PostgreSQL', prepare);
