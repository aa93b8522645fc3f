// An alarm on a page: what is wrong, in the push service's own words too, and what to do.
import { formatCount, hostOf } from '../../delivery/broadcast/format-broadcast.ts';
import type { UnreachablePushService } from '../../delivery/broadcast/watch-push-services.ts';
import { meaningOf } from '../../delivery/broadcast/reason-meanings.ts';
import type { InstallationWarning } from '../../delivery/installation-warnings.ts';
import { html, type Html } from '../../http/description/html.ts';
import type { Alarm, Broadcast } from '../../store/broadcasts.ts';
import { noHtml, untrusted, time } from './components.ts';

/** Of the installation as a whole. */
export const renderWarning = ({ code, detail, remedy }: InstallationWarning): Html =>
  html`<div class="notice bad">
    <h3>${titles[code]}</h3>
    <p>${detail}</p>
    <p>${remedy}</p>
  </div>`;

const titles = {
  'sending-paused': 'Sending is paused',
  'keys-missing': 'A private key is missing',
  'clock-wrong': 'The clock is wrong',
} as const satisfies Record<InstallationWarning['code'], string>;

/** A push service that cannot be reached, by whoever sends. */
export function renderUnreachable({ origin, sinceMs, reason, machines }: UnreachablePushService): Html {
  return html`<div class="notice bad">
    <h3>${hostOf(origin)} cannot be reached</h3>
    <p>
      Its messages wait and are tried again. Check name resolution, firewall and proxy of
      ${machines.join(', ')}.
    </p>
    <p class="quiet small">
      since ${time(sinceMs)}${reason === '' ? noHtml : html` · “${untrusted(reason)}”`}
    </p>
  </div>`;
}

/** @param broadcast to be named with it */
export function renderAlarm(alarm: Alarm, broadcast?: Pick<Broadcast, 'id'>): Html {
  const { origin, reason, detail, rows, firstAtMs } = alarm;
  const { meaning, remedy } = meaningOf(reason);
  return html`<div class="notice bad">
    <h3>${hostOf(origin)}: ${meaning === '' ? reason : meaning}</h3>
    ${remedy === '' ? noHtml : html`<p>${remedy}</p>`}
    <p class="quiet small">
      ${formatCount(rows)} ${rows === 1 ? 'message' : 'messages'}, first ${time(firstAtMs)}
      ${
        broadcast === undefined
          ? noHtml
          : html`· <a href="/console/broadcasts/${broadcast.id}">broadcast ${broadcast.id}</a>`
      }
      · <code>${reason}</code>${detail === '' ? noHtml : html` · its reason: “${untrusted(detail)}”`}
    </p>
  </div>`;
}
