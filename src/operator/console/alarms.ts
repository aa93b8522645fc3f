// An alarm on a page: what is wrong, in the push service's own words too, and what to do.
import { formatCount, hostOf } from '../../delivery/broadcast/format-broadcast.ts';
import type { UnreachablePushService } from '../../delivery/broadcast/watch-push-services.ts';
import { meaningOf } from '../../delivery/broadcast/reason-meanings.ts';
import type { InstallationWarning } from '../../delivery/installation-warnings.ts';
import { html, type Html } from '../../http/description/html.ts';
import type { Alarm, Broadcast } from '../../store/broadcasts.ts';
import { notice, untrusted, timeFromNow } from './components.ts';

export const renderAlarms = (alarms: readonly Html[]): Html =>
  html`${alarms.length > 0 && html`<div class="alarms">${alarms}</div>`}`;

/** Of the installation as a whole. */
export const renderWarning = ({ code, detail, remedy }: InstallationWarning): Html =>
  notice(
    'bad',
    titles[code],
    html`<p>${detail}</p>
      <p>${remedy}</p>`,
  );

const titles = {
  'sending-paused': 'Sending is paused',
  'keys-missing': 'A private key is missing',
  'clock-wrong': 'The clock is wrong',
} as const satisfies Record<InstallationWarning['code'], string>;

/** A push service that cannot be reached, by whoever sends. */
export function renderUnreachable({ origin, sinceMs, reason, machines }: UnreachablePushService): Html {
  return notice(
    'bad',
    `${hostOf(origin)} cannot be reached`,
    html`<p>
        Its messages wait and are tried again. Check name resolution, firewall and proxy of
        ${machines.join(', ')}.
      </p>
      <p class="quiet small">
        since ${timeFromNow(sinceMs)}${reason !== '' && html` · “${untrusted(reason)}”`}
      </p>`,
  );
}

/** @param broadcast to be named with it */
export function renderAlarm(alarm: Alarm, broadcast?: Pick<Broadcast, 'id'>): Html {
  const { origin, reason, detail, rows, firstAtMs } = alarm;
  const { meaning, remedy } = meaningOf(reason);
  return notice(
    'bad',
    origin === '' ? meaning || reason : `${hostOf(origin)}: ${meaning || reason}`,
    html`${remedy !== '' && html`<p>${remedy}</p>`}
      <p class="quiet small">
        ${formatCount(rows)} ${rows === 1 ? 'message' : 'messages'}, first ${timeFromNow(firstAtMs)}
        ${broadcast && html`· <a href="/console/broadcasts/${broadcast.id}">broadcast ${broadcast.id}</a>`} ·
        <code>${reason}</code>${detail !== '' && html` · its reason: “${untrusted(detail)}”`}
      </p>`,
  );
}
