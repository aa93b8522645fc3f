// What every chart of bars has around its bars: a scale with figures, a time axis, a place for the values of the bar that is pointed at,
// and all of its figures as a table. The script of the page reads the values from the table.
import { formatCount } from '../../errors/format-count.ts';
import { html, type Html } from '../../http/description/html.ts';
import { time } from './components.ts';

/** Bars of equal width, and what is written below the beginning, the middle and the end of their time. */
export interface TimeAxis {
  readonly sinceMs: number;
  readonly stepMs: number;
  readonly count: number;
  readonly ticks: readonly [from: string, middle: string, to: string];
}

/** Upwards from 0 to `top`, downwards to `bottom`. */
export interface Scale {
  readonly top: number;
  readonly bottom: number;
}

export interface Drawing {
  /** Names the chart. */
  readonly label: string;
  readonly heading?: Html | undefined;
  /** The group of its rows in the table of the section. */
  readonly rows: string;
  /** All of its time in a few words, shown as long as no bar is pointed at. */
  readonly sum: string;
  readonly heightPixels: number;
  readonly scale: Scale;
  /** Of `yOf`. */
  readonly bars: Html;
}

/** Exact: marks are round. */
const compact = new Intl.NumberFormat('en', { notation: 'compact' });

export const chartWidth = 600;
const margin = 1;
/** The height of a figure of the scale: one that is nearer to the zero has no place. */
const markPixels = 16;

const firstDigits = [1, 2, 4, 6, 8, 10];

/** The least round number that is no less, so that a half of it is round too. */
export function roundUp(value: number): number {
  if (value <= 0) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  return firstDigits.map((digit) => digit * power).find((round) => round >= value)!;
}

/** Where a value is, in pixels from the top. */
export const yOf = (value: number, { top, bottom }: Scale, heightPixels: number): number =>
  margin + ((top - value) / Math.max(1, top + bottom)) * (heightPixels - 2 * margin);

export function chartFrame(
  { label, heading, rows, sum, heightPixels, scale, bars }: Drawing,
  axis: TimeAxis,
): Html {
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
      <svg class="scale quiet" height="${heightPixels}" aria-hidden="true">
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
        viewBox="0 0 ${chartWidth} ${heightPixels}"
        preserveAspectRatio="none"
        height="${heightPixels}"
        role="img"
        aria-label="${label}: ${sum}"
        data-rows="${rows}"
        data-since="${sinceMs}"
        data-step="${stepMs}"
        data-count="${count}"
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

/** A rectangle as part of a path: one path for a colour is a tenth of the bytes of its rectangles. */
export const rect = (x: number, y: number, width: number, height: number): string =>
  `M${round(x)} ${round(y)}h${round(width)}v${round(height)}h-${round(width)}z`;

const round = (value: number): number => Math.round(value * 10) / 10;

export interface FigureRow {
  /** Which bar of its chart. */
  readonly index: number;
  readonly name: string | Html;
  readonly values: readonly number[];
}

/** @param groups the rows of each chart by the name that its drawing gives; a bar without a row has nothing */
export function figuresTable(
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
                  <th scope="rowgroup" colspan="${columns}">${heading}</th>
                </tr>`
              }
              ${figures.map(renderRow)}
            </tbody>`,
        )}
      </table>
    </div>
  </details>`;
}

// Short: a page may have some hundred of them, and gets them again each second.
const renderRow = ({ index, name, values }: FigureRow): Html =>
  html`<tr data-bar="${index}">
    <th scope="row">${name}</th>
    ${values.map((value) => html`<td class="number">${value > 0 && formatCount(value)}</td>`)}
  </tr>`;

export const nameOfBar = ({ sinceMs, stepMs }: TimeAxis, index: number): Html =>
  time(sinceMs + index * stepMs);
