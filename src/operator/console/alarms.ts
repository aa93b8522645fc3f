// Alarms on a page: what is wrong, in the push service's own words too, since when, what to do, and who knows of it.
import { countOf, formatCount } from '../../errors/format-count.ts';
import { hostOf } from '../../delivery/broadcast/format-broadcast.ts';
import { meaningOf } from '../../delivery/broadcast/reason-meanings.ts';
import { formatAlarmCount, type StandingAlarm } from '../../delivery/alarms/standing-alarm.ts';
import { html, type Html } from '../../http/description/html.ts';
import type { Alarm } from '../../store/broadcasts.ts';
import { pages } from './page.ts';
import { notice, timeFromNow, untrusted, urlWith } from './components.ts';
import type { ConsoleSession } from './sessions.ts';

export const renderAlarms = (alarms: readonly Html[]): Html =>
  html`${
    alarms.length > 0 &&
    html`<section class="alarms" aria-labelledby="alarms">
      <h2 id="alarms">Alarms</h2>
      ${alarms}
    </section>`
  }`;

/** Newest broadcasts of an alarm that are named; the others are counted. */
const namedBroadcasts = 10;

/** An alarm with the links to where it is cured and where it is acknowledged, the latter for who may do it. */
export function renderStanding(alarm: StandingAlarm, { mayChange }: ConsoleSession): Html {
  const { id, what, link, acknowledgement } = alarm;
  return notice(
    acknowledgement === undefined ? 'bad' : 'warn',
    what,
    html`${describeStanding(alarm)}
      <p class="small">
        <a href="${link}">${nameOf(link)}</a>
        ${
          acknowledgement === undefined &&
          mayChange &&
          html`· <a href="${urlWith('/console/alarms/acknowledge', { alarm: id })}">Acknowledge</a>`
        }
      </p>`,
  );
}

/** Of a page of the console. */
const nameOf = (link: string): string =>
  Object.entries(pages).find(([, url]) => url === link)?.[0] ?? `Broadcast ${link.split('/').at(-1)}`;

/** All but the title. */
export function describeStanding(alarm: StandingAlarm): Html {
  const { remedy, detail, sinceMs, kind, broadcastIds, acknowledgement } = alarm;
  const count = formatAlarmCount(alarm);
  return html`${remedy !== '' && html`<p>${remedy}</p>`}
    <p class="quiet small">
      ${count !== '' && html`${count} · `}${sinceMs !== undefined && html`since ${timeFromNow(sinceMs)} · `}
      ${nameBroadcasts(broadcastIds)}<code>${kind}</code>${
        detail !== '' && html` · its reason: “${untrusted(detail)}”`
      }
    </p>
    ${
      acknowledgement &&
      html`<p class="small">
        <strong>${acknowledgement.operator}</strong> knows of it since ${timeFromNow(acknowledgement.atMs)}:
        “${untrusted(acknowledgement.note)}”
      </p>`
    }`;
}

function nameBroadcasts(ids: readonly number[]): Html | false {
  if (ids.length === 0) return false;
  const named = ids.toReversed().slice(0, namedBroadcasts);
  const others = ids.length - named.length;
  const links = named.map(
    (id, index) => html`${index > 0 && ', '}<a href="/console/broadcasts/${id}">${id}</a>`,
  );
  return html`${ids.length === 1 ? 'broadcast' : 'broadcasts'}
  ${links}${others > 0 && html` and ${formatCount(others)} others`} · `;
}

/** An alarm of one broadcast, on its page. */
export function renderAlarm(alarm: Alarm): Html {
  const { origin, reason, detail, rows, firstAtMs } = alarm;
  const { meaning, remedy } = meaningOf(reason);
  return notice(
    'bad',
    origin === '' ? meaning || reason : `${hostOf(origin)}: ${meaning || reason}`,
    html`${remedy !== '' && html`<p>${remedy}</p>`}
      <p class="quiet small">
        ${countOf(rows, 'message')}, first ${timeFromNow(firstAtMs)} ·
        <code>${reason}</code>${detail !== '' && html` · its reason: “${untrusted(detail)}”`}
      </p>`,
  );
}
