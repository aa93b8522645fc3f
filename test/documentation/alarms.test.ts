// What an alarm tells an operator to do: the same in its own words and in the tables of docs/alarms.md.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  findManyEnded,
  findUnanimous,
  unreachableAlarms,
} from '../../src/delivery/alarms/push-service-conditions.ts';
import { type AlarmKind, alarmKinds } from '../../src/delivery/alarms/alarm-kinds.ts';
import { findLateWork } from '../../src/delivery/alarms/late-work.ts';
import { formatAlarmCount, toStanding, type FoundAlarm } from '../../src/delivery/alarms/standing-alarm.ts';
import { meaningOf } from '../../src/delivery/broadcast/meanings.ts';
import { findChromeLimit } from '../../src/delivery/limits/rate-limits.ts';
import { pauseRemedy, storeRemedy } from '../../src/delivery/alarms/installation-warnings.ts';
import { missingKeysRemedy } from '../../src/keys/vapid-key-files.ts';
import { clockRemedy } from '../../src/delivery/reports/clock-check.ts';
import type { StoredSenderReport } from '../../src/store/sending.ts';
import { pages } from './pages.ts';
import { idlePushService, noOutcomes, workerReport } from '../store/made-up-subscription.ts';

const page = pages.find(({ path }) => path === 'docs/alarms.md')!.text;
const due = [{ id: 1, sinceMs: 0, hasBegun: false }];
const sender = {
  ...workerReport,
  seenAtMs: 0,
  pushServices: [{ ...idlePushService, breaker: 'open', unreachableMs: 20_000 }],
} as const satisfies StoredSenderReport;

const late = (broadcasts: typeof due, schedules: typeof due, senders: readonly StoredSenderReport[]) =>
  findLateWork({ broadcasts, schedules, lastSentAtMs: 0 }, senders, 100_000).alarms;
const interval = (pushService: string, answers: object) => ({
  startMs: 0,
  widthMs: 1,
  pushService,
  ...noOutcomes,
  attempts: 0,
  ...answers,
});
const answered = (answers: object) => findUnanimous([interval('push.example.net', answers)]);
const found: readonly FoundAlarm[] = [
  ...late(due, [], []),
  ...late(due, due, [sender]),
  ...unreachableAlarms([sender]),
  ...answered({ rejected: 100 }),
  ...answered({ gone: 100 }),
  ...findManyEnded([
    interval('push.apple.com', { accepted: 200, gone: 50 }),
    interval('fcm.googleapis.com', { accepted: 1000 }),
  ]),
];
const remedies = {
  'store-failed': storeRemedy,
  'sending-paused': pauseRemedy,
  'keys-missing': missingKeysRemedy,
  'clock-wrong': clockRemedy,
};
const throttled = { kind: 'retry', reason: 'throttled', slowsOrigin: true } as const;
const chromeWords = findChromeLimit('https://fcm.googleapis.com', throttled, 9)?.detail ?? '';

/** Words that the page and the alarm have in common. */
const advice: Readonly<Record<AlarmKind, readonly string[]> & Record<string, readonly string[]>> = {
  'store-failed': ['continues by itself'],
  'sending-paused': ['deskbell sending show', 'no other copy of the store sends', 'deskbell sending resume'],
  'keys-missing': ['put the key file back from a backup or from another machine'],
  'clock-wrong': ['set it, and keep it right with ntp'],
  'many-ended': ['a service worker of your own must show one for each'],
  'no-worker': ['start deskbell worker', 'serve --deliver'],
  'broadcast-late': ['see their log', 'add workers'],
  'schedule-late': ['log'],
  unreachable: ['check name resolution, firewall and proxy of'],
  'accepts-nothing': ['see what it refuses'],
  'all-gone': ['people have to subscribe again', 'vapid key', 'old copy of the database'],
  'vapid-refused': ['subject', 'clock', 'apple requires'],
  'vapid-key-mismatch': ['deskbell keys'],
  'deletions-held': ['confirm', 'discard'],
  'counts-differ': ['lost its last seconds', 'report it'],
  'chrome-limit': ['send less often, and only to people who engage', 'fcm.googleapis.com=900/min'],
  'protocol-error': ['proxy'],
  'address-blocked': ['pushservices'],
  'not-listed': ['add its origin to pushservices of every process', 'cancel the broadcast'],
};

const plain = (text: string): string => text.toLowerCase().replaceAll(/["“”`]/g, '');
const rowsOf = (kind: string): string =>
  plain(
    page
      .split('\n')
      .filter((line) => line.startsWith(`| \`${kind}\``))
      .join('\n'),
  );

test('an alarm says what to do in the words of docs/alarms.md', () => {
  for (const [kind, words] of Object.entries(advice)) {
    const ofInstallation: string | undefined = remedies[kind as keyof typeof remedies];
    const said =
      ofInstallation ?? found.find((alarm) => alarm.kind === kind)?.remedy ?? meaningOf(kind).remedy;
    const texts = { page: rowsOf(kind), alarm: plain(kind === 'chrome-limit' ? said + chromeWords : said) };
    for (const [place, text] of Object.entries(texts))
      for (const word of words) assert.ok(text.includes(word), `${kind}, ${place}: ${word} in ${text}`);
  }
  const refusing = found.find(({ kind }) => kind === 'accepts-nothing');
  assert.equal(refusing?.link, '/console/push-services');
});

const many = (count: number) => Array.from({ length: count }, (_, id) => ({ ...due[0]!, id }));
const countOf = (broadcasts: number, schedules: number): string =>
  formatAlarmCount(toStanding(late(many(broadcasts), many(schedules), [])[0]!));

test('an alarm says about how many it is, and that there may be more', () => {
  assert.deepEqual(
    [countOf(19, 20), countOf(20, 0), countOf(0, 1), countOf(0, 20)],
    ['19 broadcasts', '20 broadcasts or more', '1 schedule', '20 schedules or more'],
  );
});

test('docs/alarms.md says how long each kind of alarm stands', () => {
  const [, table = ''] = /\| Alarm \| Lasts as long as \|([^]*?)\n\n/.exec(page) ?? [];
  const isMissing = (kind: string): boolean => !table.includes(`\`${kind}\``);
  assert.deepEqual(alarmKinds.filter(isMissing), []);
});
