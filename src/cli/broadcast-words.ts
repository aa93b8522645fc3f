// Broadcasts in words: one line while they run, a summary that adds up when they are over.
import type { Progress } from '../delivery/progress.ts';
import { settlements, type Alarm, type Broadcast } from '../store/broadcast-store.ts';
import type { Output } from './output.ts';

/** What became of rows, in the order in which it is told; the numbers add up to the audience. */
export const countNames = [...settlements, 'removed', 'cancelled', 'pending'] as const;

const meanings: Readonly<Record<(typeof countNames)[number], string>> = {
  accepted: 'the push service took the message over',
  gone: 'the subscription had ended, and is removed',
  rejected: 'not to be tried again',
  expired: 'not delivered within the TTL',
  exhausted: 'given up after many attempts',
  removed: 'no longer subscribed when its turn came',
  cancelled: 'never tried',
  pending: 'still to be delivered',
};

export const formatCount = (count: number): string => count.toLocaleString('en');

/** `running`, or what a person should know instead: `scheduled`. */
export function stateOf({ state, startAtMs }: Broadcast, nowMs = Date.now()): string {
  return state === 'running' && startAtMs > nowMs ? 'scheduled' : state;
}

/** `[#####·····]  48 %  480,000 of 1,000,000  16,200/s  0:32 left  fcm.googleapis.com 479,000 accepted …` */
export function describeProgress({ broadcast, settled, ratePerSecond, etaSeconds }: Progress): string {
  const share = broadcast.audience === 0 ? 1 : settled / broadcast.audience;
  const width = 20;
  const bar = '#'.repeat(Math.floor(share * width)).padEnd(width, '·');
  return [
    `[${bar}] ${Math.floor(share * 100)} %`,
    `${formatCount(settled)} of ${formatCount(broadcast.audience)}`,
    `${formatCount(Math.round(ratePerSecond))}/s`,
    ...(etaSeconds === undefined ? [] : [`${formatDuration(etaSeconds)} left`]),
    ...(broadcast.waiting > 0 ? [`${formatCount(broadcast.waiting)} to be tried again`] : []),
    ...broadcast.origins.map(describeOrigin),
  ].join('  ');
}

function describeOrigin(counts: Broadcast['origins'][number]): string {
  const parts = settlements.filter((name) => counts[name] > 0);
  return `${hostOf(counts.origin)}: ${parts.map((name) => `${formatCount(counts[name])} ${name}`).join(', ') || 'no answer yet'}`;
}

export function describeAlarm({
  origin,
  reason,
  detail,
}: Pick<Alarm, 'origin' | 'reason' | 'detail'>): string {
  return `${hostOf(origin)} refuses messages: ${reason}${detail === '' ? '' : ` (${detail})`}`;
}

/** The summary, line by line. */
export function describeOutcome(broadcast: Broadcast, output: Pick<Output, 'style'>): readonly string[] {
  const { audience, counts, origins, alarms } = broadcast;
  const width = formatCount(audience).length;
  const columns = settlements.filter((name) => counts[name] > 0);
  const hostWidth = Math.max(12, ...origins.map(({ origin }) => hostOf(origin).length));
  return [
    ...countNames
      .filter((name) => counts[name] > 0)
      .map(
        (name) =>
          `  ${formatCount(counts[name]).padStart(width)} ${name.padEnd(9)}  ${output.style('dim', meanings[name])}`,
      ),
    `  ${formatCount(audience).padStart(width)} in all`,
    ...(origins.length === 0
      ? []
      : [
          '',
          output.style('dim', `  ${'PUSH SERVICE'.padEnd(hostWidth)}${cells([...columns, 'attempts'])}`),
          ...origins.map(
            (origin) =>
              `  ${hostOf(origin.origin).padEnd(hostWidth)}${cells([...columns.map((name) => formatCount(origin[name])), formatCount(origin.attempts)])}`,
          ),
        ]),
    ...alarms.map((alarm) =>
      output.style('red', `  ! ${describeAlarm(alarm)}: ${formatCount(alarm.rows)} messages`),
    ),
  ];
}

/** As JSON: everything but the payload and the key that it was made with. */
export function toJson(broadcast: Broadcast): object {
  const { id, ttlSeconds, urgency, topic, audience, counts, waiting, origins, alarms } = broadcast;
  return {
    id,
    state: stateOf(broadcast),
    audience,
    counts,
    waiting,
    origins,
    alarms: alarms.map(({ firstAtMs, ...alarm }) => ({ ...alarm, firstAt: time(firstAtMs) })),
    ttlSeconds,
    urgency,
    ...(topic !== undefined && { topic }),
    ...(broadcast.idempotencyKey !== undefined && { idempotencyKey: broadcast.idempotencyKey }),
    createdAt: time(broadcast.createdAtMs),
    startAt: time(broadcast.startAtMs),
    expiresAt: time(broadcast.expiresAtMs),
    ...(broadcast.finishedAtMs !== undefined && { finishedAt: time(broadcast.finishedAtMs) }),
  };
}

/** `1:05:09`, `0:32` */
export function formatDuration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

function hostOf(origin: string): string {
  return URL.parse(origin)?.host ?? origin;
}

const cells = (values: readonly string[]): string => values.map((value) => value.padStart(11)).join('');

const time = (timeMs: number): string => new Date(timeMs).toISOString();

const two = (value: number): string => String(value).padStart(2, '0');
