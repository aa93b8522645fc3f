// The line that shows how far a broadcast is.
import { countOf, formatCount } from '../../errors/format-count.ts';
import { formatDuration, hostOf } from '../../delivery/broadcast/format-broadcast.ts';
import type { Progress } from '../../delivery/broadcast/progress.ts';
import { settlements, type Broadcast, type OriginCounts } from '../../store/broadcasts.ts';

/** `[#####·····]  48 %  480,000 of 1,000,000  16,200/s  0:32 left  fcm.googleapis.com: 479,000 accepted …` */
export function formatProgress({ broadcast, settled, ratePerSecond, etaSeconds }: Progress): string {
  if (broadcast.state === 'preparing') return formatPreparation(broadcast);
  const share = broadcast.recipients === 0 ? 1 : settled / broadcast.recipients;
  const width = 20;
  const bar = '#'.repeat(Math.floor(share * width)).padEnd(width, '·');
  return [
    `[${bar}] ${Math.floor(share * 100)} %`,
    `${formatCount(settled)} of ${formatCount(broadcast.recipients)}`,
    `${formatCount(ratePerSecond)}/s`,
    ...(etaSeconds === undefined ? [] : [`${formatDuration(etaSeconds)} left`]),
    ...formatWaiting(broadcast),
    ...broadcast.origins.map(formatOrigin),
  ].join('  ');
}

/** `Broadcast 7 is preparing: 480,000 subscriptions found so far` */
export const formatPreparation = ({ id, recipients }: Broadcast): string =>
  `Broadcast ${id} is preparing: ${countOf(recipients, 'subscription')} found so far`;

/** Rows that are held back wait for their push service to accept messages again; the others for their next attempt, or their first. */
function formatWaiting({ waiting, toRetry, heldBack }: Broadcast): readonly string[] {
  const suspendedRows = heldBack.reduce((sum, { rows }) => sum + rows, 0);
  const deferred = waiting - suspendedRows - toRetry;
  return [
    ...(toRetry > 0 ? [`${formatCount(toRetry)} waiting for a retry`] : []),
    ...(deferred > 0 ? [`${formatCount(deferred)} put off, not tried yet`] : []),
    ...heldBack.map(({ origin, rows }) => `${formatCount(rows)} held back, ${hostOf(origin)} refuses them`),
  ];
}

function formatOrigin(counts: OriginCounts): string {
  const parts = settlements.filter((name) => counts[name] > 0);
  return `${hostOf(counts.origin)}: ${parts.map((name) => `${formatCount(counts[name])} ${name}`).join(', ') || 'none settled yet'}`;
}
