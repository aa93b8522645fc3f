// The store in PostgreSQL: all that every store must do.
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { describeAttempts } from './attempts-suite.ts';
import { describeAudiences } from './audiences-suite.ts';
import { describeSplitAudiences } from './split-audiences-suite.ts';
import { describeBroadcasts } from './broadcast-suite.ts';
import { describeEndpointSpellings } from './endpoint-spellings-suite.ts';
import { describeHeldDeletions } from './held-deletions-suite.ts';
import { describeInvitations } from './invitations-suite.ts';
import { describeOperators } from './operators-suite.ts';
import { describeExpressions, describePeople } from './people-suite.ts';
import { useSharedServer, type TestDatabase } from '../../tools/postgres-server.ts';
import { describePushServices } from './push-services-suite.ts';
import { describePerPerson } from './frequency-cap-suite.ts';
import { describeRateShares } from './rate-shares-suite.ts';
import { describeUnlistedPushServices } from './unlisted-push-services-suite.ts';
import { describeReaders } from './readers-suite.ts';
import { describeReceipts } from './receipts-suite.ts';
import { describeRegistrations } from './registration-suite.ts';
import { describeRetention } from './retention-suite.ts';
import { describeAlarms } from './alarms-suite.ts';
import { describeSending } from './sending-suite.ts';
import { describeSchedules } from './schedules-suite.ts';
import { describeStatistics } from './statistics-suite.ts';
import { describeStore } from './store-suite.ts';
import type { StoreUnderTest } from './store-under-test.ts';
import { describeWebhookOutbox } from './webhook-outbox-suite.ts';
import { describeVapidKeys } from './vapid-keys-suite.ts';

const getServer = useSharedServer();

const prepare = async (): Promise<StoreUnderTest> => {
  let database: TestDatabase | undefined;
  return {
    open: async (now, subscriptionLimit) => {
      database ??= await (await getServer()).createDatabase();
      return openPostgresStore({ url: database.url, now, subscriptionLimit });
    },
    remove: async () => database?.remove(),
  };
};

describeStore('PostgreSQL', prepare);
describeBroadcasts('PostgreSQL', prepare);
describeAttempts('PostgreSQL', prepare);
describeHeldDeletions('PostgreSQL', prepare);
describeEndpointSpellings('PostgreSQL', prepare);
describePushServices('PostgreSQL', prepare);
describeRegistrations('PostgreSQL', prepare);
describeInvitations('PostgreSQL', prepare);
describeVapidKeys('PostgreSQL', prepare);
describeWebhookOutbox('PostgreSQL', prepare);
describeStatistics('PostgreSQL', prepare);
describeReaders('PostgreSQL', prepare);
describeReceipts('PostgreSQL', prepare);
describePeople('PostgreSQL', prepare);
describeAudiences('PostgreSQL', prepare);
describeSplitAudiences('PostgreSQL', prepare);
describeExpressions('PostgreSQL', prepare);
describeOperators('PostgreSQL', prepare);
describeRateShares('PostgreSQL', prepare);
describeUnlistedPushServices('PostgreSQL', prepare);
describePerPerson('PostgreSQL', prepare);
describeRetention('PostgreSQL', prepare);
describeSchedules('PostgreSQL', prepare);
describeSending('PostgreSQL', prepare);
describeAlarms('PostgreSQL', prepare);
