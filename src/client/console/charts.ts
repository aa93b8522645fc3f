// Shows the value (from the chart's table) of the bar under the pointer, or of the bar selected with arrow keys.
import { localText } from './local-times.ts';

interface Reading {
  readonly chart: SVGElement;
  index: number;
}

const dayMs = 24 * 60 * 60 * 1000;
const isChart = 'svg.bars';
const steps: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
  PageDown: -10,
  PageUp: 10,
  Home: -Infinity,
  End: Infinity,
};

let reading: Reading | undefined;

/** Makes charts focusable, including charts that are added to the page later. */
export function enableCharts(within: ParentNode): void {
  for (const chart of within.querySelectorAll<SVGElement>(isChart)) {
    setAttributes(chart, {
      tabindex: '0',
      role: 'slider',
      'aria-valuemin': '1',
      'aria-valuemax': chart.dataset['count']!,
      'aria-valuenow': chart.dataset['count']!,
      'aria-valuetext': 'Arrow keys read single bars',
    });
  }
}

export function readCharts(): void {
  document.addEventListener('pointermove', ({ target, clientX }) => {
    const chart = chartAt(target);
    if (chart === undefined) {
      if (reading?.chart !== document.activeElement) read(undefined);
      return;
    }
    const { left, width } = chart.getBoundingClientRect();
    read({ chart, index: Math.floor(((clientX - left) / width) * countOf(chart)) });
  });
  document.addEventListener('focusin', ({ target }) => {
    const chart = chartAt(target);
    read(chart && { chart, index: countOf(chart) - 1 });
  });
  document.addEventListener('focusout', () => read(undefined));
  document.addEventListener('keydown', (event) => {
    const step = steps[event.key];
    const chart = chartAt(event.target);
    if (step === undefined || chart === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    read({ chart, index: (reading?.chart === chart ? reading.index : countOf(chart) - 1) + step });
  });
}

export const readAgain = (): void => read(reading);

function read(next: Reading | undefined): void {
  if (reading !== undefined && reading.chart !== next?.chart) show(reading.chart, '', '');
  reading = next?.chart.isConnected ? next : undefined;
  if (reading === undefined) return;
  const { chart } = reading;
  const count = countOf(chart);
  reading.index = Math.min(count - 1, Math.max(0, reading.index));
  const text = describe(reading);
  const x = (Number(chart.getAttribute('viewBox')!.split(' ')[2]) * (reading.index + 0.5)) / count;
  show(chart, text, `M${x} 0V${chart.getAttribute('height')}`);
  setAttributes(chart, { 'aria-valuenow': String(reading.index + 1), 'aria-valuetext': text });
}

function show(chart: SVGElement, text: string, line: string): void {
  chart.querySelector('.marker')?.setAttribute('d', line);
  chart.closest('.plot')!.previousElementSibling!.querySelector('[data-readout]')!.textContent = text;
}

/** `2027-01-01 09:00 CET: 1,200 accepted · 3 gone` */
function describe({ chart, index }: Reading): string {
  const { since, step, rows } = chart.dataset;
  const date = new Date(Number(since) + index * Number(step));
  const isDay = Number(step) === dayMs;
  const name = isDay ? date.toISOString().slice(0, 10) : localText(date, Number(step) < 60_000);
  const group = chart.closest('section')!.querySelector(`[data-figures="${rows}"]`)!;
  const titles = group.closest('table')!.querySelectorAll('thead td, thead th');
  const cells = [...(group.querySelector(`[data-bar="${index}"]`)?.children ?? [])];
  const values = cells
    .map((cell, column) => [cell.textContent?.trim(), titles[column]?.textContent?.trim()] as const)
    .slice(1)
    .filter(([value]) => value)
    .map((part) => part.join(' '));
  return `${name}: ${values.join(' · ') || 'nothing'}`;
}

const chartAt = (target: EventTarget | null): SVGElement | undefined =>
  (target instanceof Element ? target.closest<SVGElement>(isChart) : null) ?? undefined;

const countOf = (chart: SVGElement): number => Number(chart.dataset['count']);

function setAttributes(element: Element, attributes: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}
