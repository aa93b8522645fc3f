// Bar charts as SVG, with a scale, a time axis and a table of all figures. The page's script reads the values of the
// bar under the pointer from the table. Charts also work without the script, and need no inline styles.
import { formatSpan } from '../../errors/format-count.ts';
import { formatReached, reachedShare } from '../../delivery/broadcast/format-broadcast.ts';
import { lookUp } from '../../errors/check-options.ts';
import { html, type Html } from '../../http/description/html.ts';
import { type Broadcast, type Settlement, settlements } from '../../store/broadcasts.ts';
import type { OutcomeInterval, SubscriptionDay } from '../../store/statistics.ts';
import { time } from './components.ts';
import { counted, figure, figuresOf } from './figures.ts';

/** An axis for bars of equal width, with labels below its beginning, middle and end. */
interface TimeAxis {
  readonly sinceMs: number;
  readonly stepMs: number;
  readonly count: number;
  readonly ticks: readonly [from: string, middle: string, to: string];
}

/** A scale that goes up from 0 to `top`, and down to `bottom`. */
interface Scale {
  readonly top: number;
  readonly bottom: number;
}

export interface Drawing {
  readonly label: string;
  readonly heading?: Html | undefined;
  /** The `data-figures` of the table rows that contain this chart's figures. */
  readonly rows: string;
  /** The summary shown while no bar is selected. */
  readonly sum: string;
  readonly heightPixels: number;
  readonly scale: Scale;
  /** SVG elements, positioned with `yOf`. */
  readonly bars: Html;
}

/** Compact numbers are exact on the axis, because its labels are round numbers. */
const compact = new Intl.NumberFormat('en', { notation: 'compact' });

const chartWidth = 600;
const margin = 1;
/** The height of a label on the axis. Marks that are closer to zero than this have no label. */
const markPixels = 16;

const firstDigits = [1, 2, 4, 6, 8, 10];

/** Returns the smallest round number that is at least `value`. Half of this number is round too. */
export function roundUp(value: number): number {
  if (value <= 0) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  return firstDigits.map((digit) => digit * power).find((round) => round >= value)!;
}

/** The position of a value in pixels from the top. */
const yOf = (value: number, { top, bottom }: Scale, heightPixels: number): number =>
  margin + ((top - value) / Math.max(1, top + bottom)) * (heightPixels - 2 * margin);

function chartFrame({ label, heading, rows, sum, heightPixels, scale, bars }: Drawing, axis: TimeAxis): Html {
  const { sinceMs, stepMs, count, ticks } = axis;
  const marks = [scale.top, 0, -scale.bottom].filter((mark, index, all) => all.indexOf(mark) === index);
  const hasRoom = (mark: number): boolean =>
    mark === 0 || Math.abs(yOf(mark, scale, heightPixels) - yOf(0, scale, heightPixels)) > markPixels;
  const lines = marks.map((mark) => `M0 ${round(yOf(mark, scale, heightPixels))}H${chartWidth}`);
  return html`<div class="spread">
      ${heading}
      <p class="quiet small number readout">
        <span>${sum}</span><span data-readout aria-hidden="true"></span>
      </p>
    </div>
    <div class="plot">
      <svg class="scale quiet" height="${String(heightPixels)}" aria-hidden="true">
        ${marks
          .filter(hasRoom)
          .map(
            (mark) =>
              html`<text
                x="100%"
                y="${round(yOf(mark, scale, heightPixels))}"
                dominant-baseline="${baselineOf(mark, scale)}"
              >
                ${compact.format(Math.abs(mark))}
              </text>`,
          )}
      </svg>
      <svg
        class="bars"
        viewBox="${`0 0 ${chartWidth} ${heightPixels}`}"
        preserveAspectRatio="none"
        height="${String(heightPixels)}"
        role="img"
        aria-label="${label}: ${sum}"
        data-rows="${rows}"
        data-since="${String(sinceMs)}"
        data-step="${String(stepMs)}"
        data-count="${String(count)}"
      >
        <path class="axis" d="${lines.join('')}" />
        ${bars}
        <path class="marker" d="" />
      </svg>
      <p class="spread quiet small number ticks">${ticks.map((tick) => html`<span>${tick}</span>`)}</p>
    </div>`;
}

const baselineOf = (mark: number, { top, bottom }: Scale): string => {
  if (mark === top) return 'hanging';
  return mark === -bottom ? 'auto' : 'middle';
};

/** A rectangle as part of a path. Rectangles of a colour share a path, which saves nine tenths of the bytes. */
const rect = (x: number, y: number, width: number, height: number): string =>
  `M${round(x)} ${round(y)}h${round(width)}v${round(height)}h-${round(width)}z`;

const round = (value: number): string => String(Math.round(value * 10) / 10);

export interface FigureRow {
  readonly index: number;
  readonly name: string | Html;
  readonly values: readonly string[];
}

/** @param groups the rows of each chart; a bar without a row has no values */
function figuresTable(
  label: string,
  first: string,
  series: readonly string[],
  groups: readonly {
    readonly rows: string;
    readonly heading?: string;
    readonly figures: readonly FigureRow[];
  }[],
): Html {
  const columns = series.length + 1;
  return html`<details class="figures">
    <summary>Show as a table</summary>
    <div class="table" role="group" aria-label="${label}" tabindex="0">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">${first}</th>
            ${series.map((name) => html`<th scope="col" class="number">${name}</th>`)}
          </tr>
        </thead>
        ${groups.map(
          ({ rows, heading, figures }) =>
            html`<tbody data-figures="${rows}">
              ${
                heading !== undefined &&
                html`<tr>
                  <th scope="rowgroup" colspan="${String(columns)}">${heading}</th>
                </tr>`
              }
              ${figures.map(renderRow)}
            </tbody>`,
        )}
      </table>
    </div>
  </details>`;
}

// Rows are short, because a page may have hundreds of rows and receives them again each second.
const renderRow = ({ index, name, values }: FigureRow): Html =>
  html`<tr data-bar="${String(index)}">
    <th scope="row">${name}</th>
    ${values.map((value) => html`<td class="number">${value}</td>`)}
  </tr>`;

const timeOfBar = ({ sinceMs, stepMs }: TimeAxis, index: number): number => sinceMs + index * stepMs;

/** Renders nothing for 0, since most bars in a table are empty. */
const barFigure = (name: string, value: number, of: string): string =>
  value > 0 ? figure(name, value, of) : '';

/** The outcomes at one push service, in bars of equal width. */
export interface ServiceBars {
  readonly pushService: string;
  readonly bars: Record<Settlement, number>[];
  readonly sums: Record<Settlement | 'attempts', number>;
}

/** The maximum number of push services to show; the others are combined into one. */
const maxServices = 6;
const otherServices = 'other push services';

const noOutcomes = (): Record<Settlement, number> =>
  Object.fromEntries(settlements.map((outcome) => [outcome, 0])) as Record<Settlement, number>;

/**
 * Groups intervals into bars on a time axis for each push service. The push service with the most attempts is first.
 */
export function toServiceBars(
  intervals: readonly OutcomeInterval[],
  { sinceMs, stepMs, count }: Pick<TimeAxis, 'sinceMs' | 'stepMs' | 'count'>,
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
  for (const interval of intervals) {
    const service = services.get(interval.pushService) ?? services.get(otherServices)!;
    const index = Math.min(count - 1, Math.max(0, Math.floor((interval.startMs - sinceMs) / stepMs)));
    for (const outcome of settlements) {
      service.bars[index]![outcome] += interval[outcome];
      service.sums[outcome] += interval[outcome];
    }
    service.sums.attempts += interval.attempts;
  }
  return [...services.values()];
}

const serviceHeight = 72;

/** The bars of one push service: acceptances below, and above them failures, which are always thick enough to see. */
function outcomeBars({ bars }: ServiceBars, scale: Scale): Html {
  const step = chartWidth / bars.length;
  const tops = bars.map(() => yOf(0, scale, serviceHeight));
  const paths = settlements.map((outcome) => {
    const rects = bars.map((bar, index) => {
      if (bar[outcome] === 0) return '';
      const barHeight = Math.max(2, yOf(0, scale, serviceHeight) - yOf(bar[outcome], scale, serviceHeight));
      tops[index]! -= barHeight;
      return rect(index * step, tops[index]!, Math.max(1, step - 1.5), barHeight);
    });
    return html`<path class="fill-${outcome}" d="${rects.join('')}" />`;
  });
  return html`${paths}`;
}

export const sumOf = (bar: Readonly<Record<Settlement, number>>): number =>
  settlements.reduce((sum, outcome) => sum + bar[outcome], 0);

/** Renders the outcomes of each push service as a chart, all on the same scale. @param scope the time or broadcast */
export function serviceCharts(services: readonly ServiceBars[], axis: TimeAxis, scope: string): Html {
  const shown = settlements.filter((outcome) => services.some(({ sums }) => sums[outcome] > 0));
  const scale = { top: roundUp(Math.max(1, ...services.flatMap(({ bars }) => bars.map(sumOf)))), bottom: 0 };
  const unit = `Messages per ${formatStep(axis)}`;
  return html`<p class="quiet small">${unit}${services.length > 1 && ', all to one scale'}</p>
    <div>
      ${services.map(
        (service, index) =>
          html`<div class="item">
            ${chartFrame(
              {
                label: service.pushService,
                heading: html`<h3>${service.pushService}</h3>`,
                rows: `service-${index}`,
                sum: sumsText(service.sums, `${scope} ${service.pushService}`),
                heightPixels: serviceHeight,
                scale,
                bars: outcomeBars(service, scale),
              },
              axis,
            )}
          </div>`,
      )}
    </div>
    ${legend(shown)}
    ${figuresTable(
      unit,
      'From',
      shown,
      services.map(({ pushService, bars }, index) => ({
        rows: `service-${index}`,
        heading: pushService,
        figures: [...bars.entries()]
          .filter(([, bar]) => sumOf(bar) > 0)
          .map(([bar, counts]) => ({
            index: bar,
            name: figure('bars.from', timeOfBar(axis, bar), scope, time),
            values: shown.map((outcome) =>
              barFigure(
                `bars.${outcome}`,
                counts[outcome],
                `${scope} ${pushService} ${timeOfBar(axis, bar)} ${timeOfBar(axis, bar + 1)}`,
              ),
            ),
          })),
      })),
    )}`;
}

/** `minute`, `30 min` */
function formatStep({ stepMs }: TimeAxis): string {
  const words = formatSpan(stepMs / 1000);
  return lookUp({ '1 s': 'second', '1 min': 'minute', '1 h': 'hour' }, words) ?? words;
}

/** `1,200 accepted · 3 gone · 1,215 attempts` */
export function sumsText(sums: ServiceBars['sums'], of: string): string {
  const shown = figuresOf('services', of);
  const parts = settlements
    .filter((outcome) => sums[outcome] > 0)
    .map((outcome) => `${shown(`${outcome}`, sums[outcome])} ${outcome}`);
  if (sumOf(sums) !== sums.attempts) parts.push(shown('attempts', sums.attempts, counted('attempt')));
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

export const reachedFigure = (broadcast: Broadcast): string =>
  figure('broadcast.reachedShare', reachedShare(broadcast) ?? 0, broadcast.id, () =>
    formatReached(broadcast),
  );

/** `990 of 1,000 reached` */
export const reachedWords = ({ id, recipients, counts }: Broadcast): string =>
  `${figure('broadcast.accepted', counts.accepted, id)} of ${figure('broadcast.recipients', recipients, id)} reached`;

export function progressBar(broadcast: Broadcast): Html {
  const { id, recipients, counts } = broadcast;
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
    aria-label="${reachedFigure(broadcast)} of ${figure('broadcast.recipients', recipients, id)} reached"
  >
    ${parts}
  </svg>`;
}

const dayChartHeight = 160;
const dayMs = 24 * 60 * 60 * 1000;
const changes = ['gained', 'lost'] as const;

/** Subscriptions gained (up) and lost (down) by day; days begin at midnight UTC. */
export function dayBars(days: readonly SubscriptionDay[], sinceMs: number, count: number): Html {
  const byStart = new Map(days.map((day) => [day.startMs, day]));
  const shown = Array.from({ length: count }, (_, index) => {
    const startMs = sinceMs + index * dayMs;
    return byStart.get(startMs) ?? { startMs, gained: 0, lost: 0 };
  });
  const sumOfDays = (name: 'gained' | 'lost') => shown.reduce((sum, day) => sum + day[name], 0);
  const tops = {
    gained: Math.max(1, topOf(shown.map(({ gained }) => gained))),
    lost: topOf(shown.map(({ lost }) => lost)),
  };
  const scale = { top: tops.gained, bottom: tops.lost };
  const zero = yOf(0, scale, dayChartHeight);
  const step = chartWidth / count;
  const bars = changes.map((name) => {
    const rects = shown.map((day, index) => {
      if (day[name] === 0) return '';
      const barHeight = Math.max(2, zero - yOf(Math.min(day[name], tops[name]), scale, dayChartHeight));
      return rect(index * step, name === 'gained' ? zero - barHeight : zero, step - 2, barHeight);
    });
    const gaps = shown.map((day, index) => {
      if (day[name] <= tops[name]) return '';
      const end = yOf(name === 'gained' ? tops.gained : -tops.lost, scale, dayChartHeight);
      return rect(index * step, name === 'gained' ? end + 6 : end - 9, step - 2, 3);
    });
    return html`<path class="fill-${name}" d="${rects.join('')}" /><path class="gap" d="${gaps.join('')}" />`;
  });
  const cut = changes.flatMap((name) =>
    shown
      .filter((day) => day[name] > tops[name])
      .map(
        (day) =>
          `${figure(`days.${name}`, day[name], dateOf(day.startMs))} ${name} on ${dateOf(day.startMs)}`,
      ),
  );
  const label = 'Subscriptions gained and lost by day (UTC)';
  const ticks = [0, Math.floor(count / 2), count - 1].map((index) => dateOf(shown[index]!.startMs));
  return html`${chartFrame(
    {
      label,
      rows: 'days',
      sum: `${figure('days.gained', sumOfDays('gained'), 'all')} gained · ${figure('days.lost', sumOfDays('lost'), 'all')} lost, days in UTC`,
      heightPixels: dayChartHeight,
      scale,
      bars: html`${bars}`,
    },
    { sinceMs, stepMs: dayMs, count, ticks: ticks as [string, string, string] },
  )}
  ${cut.length > 0 && html`<p class="quiet small">Cut, with a gap: ${cut.join(', ')}.</p>`} ${legend(changes)}
  ${figuresTable(label, 'Day (UTC)', changes, [
    {
      rows: 'days',
      figures: shown.map(({ startMs, gained, lost }, index) => ({
        index,
        name: figure('days.date', dateOf(startMs), '', String),
        values: [
          barFigure('days.gained', gained, dateOf(startMs)),
          barFigure('days.lost', lost, dateOf(startMs)),
        ],
      })),
    },
  ])}`;
}

/** The top of the scale. If one value is far above the others, its bar is cut, so that the others can be read. */
function topOf(values: readonly number[]): number {
  const [highest = 0, second = 0] = values.toSorted((one, other) => other - one);
  return roundUp(second > 0 && highest > 4 * second ? 1.25 * second : highest);
}

const dateOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);
