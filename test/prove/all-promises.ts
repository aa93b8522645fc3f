// All promises that are proved, by the page of docs/ that makes them. Each page's rows stand in a file of `promises/`.
import type { DocumentedPromise } from './promise.ts';
import { client } from './promises/client.ts';
import { consolePage } from './promises/console.ts';
import { importing } from './promises/importing.ts';
import { metrics } from './promises/metrics.ts';
import { migrating } from './promises/migrating-from-web-push.ts';
import { notifications } from './promises/notifications.ts';
import { operations } from './promises/operations.ts';
import { operationsOfDelivery } from './promises/operations-delivery.ts';
import { operationsOfData } from './promises/operations-data.ts';
import { operatorApi } from './promises/operator-api.ts';
import { operatorApiAnswers } from './promises/operator-api-answers.ts';
import { people } from './promises/people.ts';
import { knownOfPeople } from './promises/people-known.ts';
import { postgresql } from './promises/postgresql.ts';
import { postgresqlServer } from './promises/postgresql-server.ts';
import { pushServicePage } from './promises/push-service.ts';
import { receipts } from './promises/receipts.ts';
import { scaling } from './promises/scaling.ts';
import { security } from './promises/security.ts';
import { securityOfPages } from './promises/security-pages.ts';
import { securityOfStrangers } from './promises/security-strangers.ts';
import { servicePage } from './promises/service.ts';
import { sending } from './promises/sending.ts';
import { sendingByCommand } from './promises/sending-command.ts';
import { sendingLater } from './promises/sending-later.ts';
import { sendingToReaders } from './promises/sending-readers.ts';

export const allPromises: Readonly<Record<string, readonly DocumentedPromise[]>> = {
  'client.md': client,
  'console.md': consolePage,
  'importing.md': importing,
  'metrics.md': metrics,
  'migrating-from-web-push.md': migrating,
  'notifications.md': notifications,
  'operations.md': [...operations, ...operationsOfData, ...operationsOfDelivery],
  'operator-api.md': [...operatorApi, ...operatorApiAnswers],
  'people.md': [...people, ...knownOfPeople],
  'postgresql.md': [...postgresql, ...postgresqlServer],
  'push-service.md': pushServicePage,
  'receipts.md': receipts,
  'scaling.md': scaling,
  'security.md': [...security, ...securityOfStrangers, ...securityOfPages],
  'sending.md': [...sending, ...sendingByCommand, ...sendingLater, ...sendingToReaders],
  'service.md': servicePage,
};
