// The rest of what every store must do, in PostgreSQL.
import { describeAttempts } from './attempts-suite.ts';
import { describeSplitAudiences } from './split-audiences-suite.ts';
import { describeEndpointSpellings } from './endpoint-spellings-suite.ts';
import { describeHeldDeletions } from './held-deletions-suite.ts';
import { describeExpressions } from './people-suite.ts';
import { describePerPerson } from './frequency-cap-suite.ts';
import { describeRateShares } from './rate-shares-suite.ts';
import { describeUnlistedPushServices } from './unlisted-push-services-suite.ts';
import { describeRetention } from './retention-suite.ts';
import { describeAlarms } from './alarms-suite.ts';
import { describeStatistics } from './statistics-suite.ts';
import { preparePostgres } from './postgres-under-test.ts';

const prepare = preparePostgres();

describeAttempts('PostgreSQL', prepare);
describeHeldDeletions('PostgreSQL', prepare);
describeEndpointSpellings('PostgreSQL', prepare);
describeStatistics('PostgreSQL', prepare);
describeSplitAudiences('PostgreSQL', prepare);
describeExpressions('PostgreSQL', prepare);
describeRateShares('PostgreSQL', prepare);
describeUnlistedPushServices('PostgreSQL', prepare);
describePerPerson('PostgreSQL', prepare);
describeRetention('PostgreSQL', prepare);
describeAlarms('PostgreSQL', prepare);
