// Draws the costs as an SVG for docs/sending.md: a bar per sender, its range, and how many times less than `web-push` it is.
// Colours follow the reader's light or dark mode.
import { cpus } from 'node:os';
import type { EntrantId, Entrants } from './entrants.ts';
import type { Results } from './results.ts';

const command = 'npm run bench -- send';
const order: readonly EntrantId[] = [
  'block65',
  'pushforge',
  'web-push-neo',
  'web-push',
  'web-push tuned',
  'broadcast builtin',
  'broadcast openssl',
  'broadcast accelerated',
];
const ours = new Set<EntrantId>(['broadcast builtin', 'broadcast openssl', 'broadcast accelerated']);

const width = 860;
const labelWidth = 300;
const valueWidth = 120;
const plotWidth = width - labelWidth - valueWidth;
const top = 74;
const rowHeight = 34;
const barHeight = 18;

const style = `
  text { font: 14px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #1f2328 }
  .title { font-size: 18px; font-weight: 600 }
  .quiet { font-size: 12px; fill: #59636e }
  .value { font-weight: 600 }
  .grid { stroke: #d1d9e0 }
  .theirs { fill: #9aa4af }
  .ours { fill: #1a7f5a }
  .range { stroke: #1f2328; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .quiet { fill: #9198a1 }
    .grid { stroke: #3d444d }
    .theirs { fill: #656c76 }
    .ours { fill: #3fb68b }
    .range { stroke: #f0f6fc }
  }`;

export function drawChart(results: Results, entrants: Entrants): string {
  const drawn = order.filter((id) => results.has(id));
  const spreads = drawn.map((id) => results.spread(id, 'cpuMicroseconds'));
  const step = niceStep(Math.max(...spreads.map(({ max }) => max)));
  const end = step * Math.ceil(Math.max(...spreads.map(({ max }) => max)) / step);
  const x = (microseconds: number): string => (labelWidth + (microseconds / end) * plotWidth).toFixed(1);
  const bottom = top + drawn.length * rowHeight;
  const height = bottom + 66;

  const grid = Array.from({ length: Math.round(end / step) + 1 }, (_, index) => {
    const at = x(index * step);
    return (
      `<line class="grid" x1="${at}" y1="${top - 6}" x2="${at}" y2="${bottom}"/>` +
      `<text class="quiet" x="${at}" y="${bottom + 18}" text-anchor="middle">${index * step}</text>`
    );
  });
  const shown = (id: EntrantId): string => results.spread(id, 'cpuMicroseconds').median.toFixed(0);
  const bars = drawn.map((id, index) => {
    const { median, min, max } = results.spread(id, 'cpuMicroseconds');
    const middle = top + (index + 0.5) * rowHeight;
    const kind = ours.has(id) ? 'ours' : 'theirs';
    // the quotient of the figures that are shown, so that a reader finds the same
    const less = ours.has(id) ? `, ${(Number(shown('web-push')) / Number(shown(id))).toFixed(1)} × less` : '';
    return (
      `<text x="${labelWidth - 12}" y="${middle + 5}" text-anchor="end">${escape(entrants[id]?.label ?? id)}</text>` +
      `<rect class="${kind}" x="${labelWidth}" y="${middle - barHeight / 2}" height="${barHeight}" rx="2" ` +
      `width="${(Number(x(median)) - labelWidth).toFixed(1)}"/>` +
      `<line class="range" x1="${x(min)}" y1="${middle}" x2="${x(max)}" y2="${middle}"/>` +
      `<text class="value" x="${(Number(x(max)) + 8).toFixed(1)}" y="${middle + 5}">${shown(id)} µs${less}</text>`
    );
  });

  const [{ model } = { model: 'unknown processor' }] = cpus();
  const conditions =
    `${command}: Node ${process.versions.node}, ${cpus().length} × ${model.trim()}, nginx with TLS on loopback, ` +
    '218 bytes, every answer 201.';
  const method =
    'Medians of the rounds, lines are their range. The senders of npm with 64 messages in flight.';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">
<title id="title">CPU time per delivered push message, by sender</title>
<style>${style}
</style>
<text class="title" x="12" y="28">CPU time per delivered push message</text>
<text class="quiet" x="12" y="48">In microseconds, all threads of the sender. × less: web-push as it comes, divided by this</text>
${[...grid, ...bars].join('\n')}
<text class="quiet" x="12" y="${height - 26}">${escape(conditions)}</text>
<text class="quiet" x="12" y="${height - 10}">${escape(method)}</text>
</svg>
`;
}

/** 1, 2 or 5 times a power of ten, so that about six lines fit. */
function niceStep(end: number): number {
  const rough = end / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
