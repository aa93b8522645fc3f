// Creates the parts of a store (`alarms`, `bells` and so on) whose code is the same for SQLite and PostgreSQL.
import { createAlarmStore } from './alarms.ts';
import { createBells } from './bells.ts';
import { createAudit, createOperators } from './operators.ts';
import { createEndpoints } from './endpoints.ts';
import { createChannels, createReaders } from './readers.ts';
import { createEndedSubscriptions, createHeldDeletions } from './held-deletions.ts';
import { createInvitations } from './invitations.ts';
import { createLosses } from './losses.ts';
import { createMessageRequests } from './message-requests.ts';
import { createPeople } from './people.ts';
import type { PortableDatabase } from './portable-sql.ts';
import { createRateShares } from './push-services.ts';
import { createAttempts } from './row-outcomes.ts';
import { createSchedules } from './schedules.ts';
import { createSenders, createSending } from './sending.ts';
import { createStatistics } from './statistics.ts';
import { createUnlistedPushServices } from './unlisted-push-services.ts';
import { createVapidKeys } from './vapid-keys.ts';
import { createVisits } from './visits.ts';
import { createWebhookOutbox } from './webhook-outbox.ts';

export const createPortableRoles = (database: PortableDatabase) => ({
  now: database.now,
  channels: createChannels(database),
  readers: createReaders(database),
  people: createPeople(database),
  attempts: createAttempts(database),
  alarms: createAlarmStore(database),
  rates: createRateShares(database),
  schedules: createSchedules(database),
  bells: createBells(database),
  sending: createSending(database),
  heldDeletions: createHeldDeletions(database),
  ended: createEndedSubscriptions(database),
  losses: createLosses(database),
  vapidKeys: createVapidKeys(database),
  unlisted: createUnlistedPushServices(database),
  statistics: createStatistics(database),
  invitations: createInvitations(database),
  messageRequests: createMessageRequests(database),
  operators: createOperators(database),
  audit: createAudit(database),
  senders: createSenders(database),
  visits: createVisits(database),
  endpoints: createEndpoints(database),
  webhooks: createWebhookOutbox(database),
});
