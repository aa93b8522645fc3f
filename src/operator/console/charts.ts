// Charts as SVG, drawn here: a page needs no script for them, and no style stands in it. Each has its figures as text too.
import { formatCount, settledRows } from '../../delivery/broadcast/format-broadcast.ts';
import { html, type Html } from '../../http/description/html.ts';
import { settlements, type Broadcast, type Settlement } from '../../store/broadcasts.ts';
import type { OutcomeInterval, SubscriptionDay } from '../../store/statistics.ts';

/** What happened at one push service, in bars of equal width. */
export interface ServiceBars {
  readonly pushService: string;
  readonly bars: Record<Settlement, number>[];
  readonly sums: Record<Settlement | 'attempts', number>;
}

/** Who subscribes chooses among a vendor's hosts; what is beyond these is shown as one. */
const maxServices = 6;
const otherServices = 'other push services';

const noOutcomes = (): Record<Settlement, number> =>
  Object.fromEntries(settlements.map((outcome) => [outcome, 0])) as Record<Settlement, number>;

/** Sorts intervals into `count` bars from `sinceMs` to `untilMs`; the push service with most attempts first. */
export function toServiceBars(
  intervals: readonly OutcomeInterval[],
  { sinceMs, untilMs, count }: { readonly sinceMs: number; readonly untilMs: number; readonly count: number },
): readonly ServiceBars[] {
  const attempts = new Map<string, number>();
  for (const { pushService, attempts: more } of intervals) {
    attempts.set(pushService, (attempts.get(pushService) ?? 0) + more);
  }
  const ranked = [...attempts].sort(([, one], [, other]) => other - one).map(([name]) => name);
  const services = new Map<string, ServiceBars>();
  for (const [rank, name] of ranked.entries()) {
    const pushService = rank < maxServices ? name : otherServices;
    const bars = Array.from({ length: count }, noOutcomes);
    services.set(pushService, { pushService, bars, sums: { ...noOutcomes(), attempts: 0 } });
  }
  const widthMs = Math.max(1, untilMs - sinceMs) / count;
  for (const interval of intervals) {
    const service = services.get(interval.pushService) ?? services.get(otherServices)!;
    const index = Math.min(count - 1, Math.max(0, Math.floor((interval.startMs - sinceMs) / widthMs)));
    for (const outcome of settlements) {
      service.bars[index]![outcome] += interval[outcome];
      service.sums[outcome] += interval[outcome];
    }
    service.sums.attempts += interval.attempts;
  }
  return [...services.values()];
}

const [width, height] = [600, 64];

/** Bars of one push service: accepted at the bottom, what failed on top, and never too thin to be seen. */
function outcomeBars({ pushService, bars }: ServiceBars, from: string, to: string): Html {
  const top = Math.max(1, ...bars.map(sumOf));
  const step = width / bars.length;
  const heights = bars.map(() => 0);
  const paths = settlements.map((outcome) => {
    const rects = bars.map((bar, index) => {
      if (bar[outcome] === 0) return '';
      const barHeight = Math.max(2, (bar[outcome] / top) * (height - 8));
      heights[index]! += barHeight;
      return rect(index * step, height - heights[index]!, Math.max(1, step - 1.5), barHeight);
    });
    return html`<path class="fill-${outcome}" d="${rects.join('')}" />`;
  });
  const label = `${pushService}: outcomes from ${from} to ${to}, at most ${formatCount(top)} in one bar`;
  return chart(label, height, html`${paths}${axis(height - 0.5)}`, from, to);
}

/** A rectangle as part of a path: one path for a colour is a tenth of the bytes of its rectangles. */
const rect = (x: number, y: number, rectWidth: number, rectHeight: number): string =>
  `M${round(x)} ${round(y)}h${round(rectWidth)}v${round(rectHeight)}h-${round(rectWidth)}z`;

const round = (value: number): number => Math.round(value * 10) / 10;

const axis = (y: number): Html => html`<path class="axis" d="M0 ${round(y)}H${width}" />`;

/** As wide as its place; its ends are named below. */
const chart = (label: string, viewHeight: number, content: Html, from: string, to: string): Html =>
  html`<svg
      class="chart"
      viewBox="0 0 ${width} ${round(viewHeight)}"
      preserveAspectRatio="none"
      height="${Math.round(viewHeight)}"
      role="img"
      aria-label="${label}"
    >
      ${content}
    </svg>
    <p class="spread quiet small number"><span>${from}</span><span>${to}</span></p>`;

const sumOf = (bar: Readonly<Record<Settlement, number>>): number =>
  settlements.reduce((sum, outcome) => sum + bar[outcome], 0);

/** Outcomes per push service, one chart below the other. */
export function serviceCharts(services: readonly ServiceBars[], from: string, to: string): Html {
  return html`<div>
      ${services.map(
        (service) =>
          html`<div class="item">
            <header class="spread">
              <h3>${service.pushService}</h3>
              <p class="quiet small number">${sumsText(service.sums)}</p>
            </header>
            ${outcomeBars(service, from, to)}
          </div>`,
      )}
    </div>
    ${legend(settlements.filter((outcome) => services.some(({ sums }) => sums[outcome] > 0)))}`;
}

/** `1,200 accepted · 3 gone · 12 tried again` */
export function sumsText(sums: ServiceBars['sums']): string {
  const again = sums.attempts - sums.accepted - sums.gone - sums.rejected;
  const parts = settlements
    .filter((outcome) => sums[outcome] > 0)
    .map((outcome) => `${formatCount(sums[outcome])} ${outcome}`);
  if (again > 0) parts.push(`${formatCount(again)} tried again`);
  return parts.join(' · ');
}

export const legend = (names: readonly string[]): Html =>
  html`<ul class="legend quiet small">
    ${names.map(
      (name) =>
        html`<li>
          <svg viewBox="0 0 12 12" aria-hidden="true">
            <rect class="fill-${name}" width="12" height="12" />
          </svg>
          ${name}
        </li>`,
    )}
  </ul>`;

/** How far a broadcast is, with what came of its rows. */
export function progressBar(broadcast: Broadcast): Html {
  const { recipients, counts } = broadcast;
  const share = recipients === 0 ? 1 : settledRows(broadcast) / recipients;
  let x = 0;
  const parts = settlements
    .filter((outcome) => counts[outcome] > 0)
    .map((outcome) => {
      const part = (counts[outcome] / recipients) * 100;
      x += part;
      return html`<rect
        class="fill-${outcome}"
        x="${(x - part).toFixed(2)}"
        width="${part.toFixed(2)}"
        height="4"
      />`;
    });
  return html`<svg
    class="progress"
    viewBox="0 0 100 4"
    preserveAspectRatio="none"
    role="img"
    aria-label="${Math.floor(share * 100)} % of ${formatCount(recipients)}"
  >
    ${parts}
  </svg>`;
}

const dayChartHeight = 160;
const dayMs = 24 * 60 * 60 * 1000;

/** Subscriptions gained, upwards, and lost, downwards, by day. */
export function dayBars(days: readonly SubscriptionDay[], sinceMs: number, count: number): Html {
  const byStart = new Map(days.map((day) => [day.startMs, day]));
  const shown = Array.from({ length: count }, (_, index) => {
    const startMs = sinceMs + index * dayMs;
    return byStart.get(startMs) ?? { startMs, gained: 0, lost: 0 };
  });
  const top = Math.max(1, ...shown.map(({ gained }) => gained));
  const bottom = Math.max(...shown.map(({ lost }) => lost));
  const scale = (dayChartHeight - 2) / (top + bottom);
  const zero = top * scale;
  const step = width / count;
  const bars = (name: 'gained' | 'lost'): Html => {
    const rects = shown.map((day, index) => {
      if (day[name] === 0) return '';
      const barHeight = Math.max(2, day[name] * scale);
      return rect(index * step, name === 'gained' ? zero - barHeight : zero, step - 2, barHeight);
    });
    return html`<path class="fill-${name}" d="${rects.join('')}" />`;
  };
  const [from, to] = [dateOf(shown[0]!.startMs), dateOf(shown.at(-1)!.startMs)];
  const label = `Subscriptions gained and lost by day, from ${from} to ${to}; at most ${formatCount(top)} gained and ${formatCount(bottom)} lost in one day`;
  return html`${chart(label, dayChartHeight, html`${bars('gained')}${bars('lost')}${axis(zero)}`, from, to)}
  ${legend(['gained', 'lost'])}`;
}

const dateOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);
