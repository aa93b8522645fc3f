// The groups that configuration entries are shown in, in the help of commands and in docs/configuration.md.
import type { SettingName } from './configuration.ts';

export interface SettingGroup {
  readonly heading: string;
  readonly names: readonly SettingName[];
}

/** Each entry in one group. */
export const settingGroups: readonly SettingGroup[] = [
  {
    heading: 'Data',
    names: [
      'data',
      'database',
      'maxSubscriptions',
      'keepBroadcastsDays',
      'keepAttemptsDays',
      'keepAuditDays',
    ],
  },
  {
    heading: 'Service',
    names: [
      'host',
      'port',
      'prefix',
      'pushOnly',
      'authenticate',
      'trustProxy',
      'bodyLimitBytes',
      'registrationsPerMinute',
      'receiptsPerMinute',
    ],
  },
  {
    heading: 'Subscriber tokens',
    names: ['subscriberTokens', 'subscriberTokenKey', 'subscriberTokenAudience'],
  },
  { heading: 'Log', names: ['logging', 'logFile', 'redactSubscriptions'] },
  {
    heading: 'Push services',
    names: ['subject', 'pushServices', 'ca', 'maxRate', 'connectTimeoutMs', 'responseTimeoutMs'],
  },
  { heading: 'Delivery', names: ['deliver', 'threads', 'encryption', 'receipts'] },
  {
    heading: 'Operator’s listener',
    names: [
      'operator',
      'operatorHosts',
      'operatorCert',
      'operatorKey',
      'operatorBehindProxy',
      'webhook',
      'metrics',
    ],
  },
];
