// Charts of the console: their scales, and the figures behind them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { htmlText } from '../../src/http/description/html.ts';
import { dayBars, roundUp, serviceCharts, toServiceBars } from '../../src/operator/console/charts.ts';
import type { OutcomeInterval } from '../../src/store/statistics.ts';

const sinceMs = Date.UTC(2027, 0, 1, 9);
const stepMs = 60_000;
const axis = { sinceMs, stepMs, count: 4, ticks: ['4 min ago', '2 min ago', 'now'] } as const;

const interval = (
  pushService: string,
  minute: number,
  counts: Partial<OutcomeInterval>,
): OutcomeInterval => ({
  pushService,
  startMs: sinceMs + minute * stepMs,
  widthMs: 10_000,
  attempts: 0,
  accepted: 0,
  gone: 0,
  rejected: 0,
  expired: 0,
  exhausted: 0,
  capped: 0,
  doubtful: 0,
  ...counts,
});

test('charts side by side have one scale, with a round end', () => {
  const intervals = [
    interval('large', 0, { attempts: 1500, accepted: 1500 }),
    interval('small', 0, { attempts: 150, accepted: 150 }),
  ];
  const text = htmlText(serviceCharts(toServiceBars(intervals, axis), axis));
  const ends = [...text.matchAll(/<text[^>]*>\s*([^<]*?)\s*<\/text>/g)].map(([, mark]) => mark);
  assert.deepEqual(ends, ['2K', '0', '2K', '0']);
  const heights = [...text.matchAll(/class="fill-accepted" d="M[\d.]+ [\d.]+h[\d.]+v([\d.]+)h/g)].map(
    ([, v]) => Number(v),
  );
  assert.equal(heights.length, 2);
  assert.ok(Math.abs(heights[0]! / heights[1]! - 10) < 0.2, heights.join(' '));
  for (const [value, round] of [
    [0, 0],
    [1, 1],
    [3, 4],
    [7, 8],
    [61, 80],
    [100, 100],
    [101, 200],
    [1234, 2000],
  ] as const) {
    assert.equal(roundUp(value), round);
  }
});

test('the figures behind a chart name each bar that has something, by push service', () => {
  const intervals = [
    interval('one.example', 1, { attempts: 1300, accepted: 1200, gone: 3, rejected: 97 }),
    interval('two.example', 3, { attempts: 5, accepted: 5 }),
  ];
  const text = htmlText(serviceCharts(toServiceBars(intervals, axis), axis));
  assert.match(text, /Messages per minute, all to one scale/);
  const table = /<details class="figures">.*<\/details>/s.exec(text)![0];
  const rows = [...table.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row]) =>
    [...row!.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell]) =>
      cell!.replaceAll(/<[^>]*>/g, '').trim(),
    ),
  );
  assert.deepEqual(rows, [
    ['From', 'accepted', 'gone', 'rejected'],
    ['one.example'],
    ['2027-01-01 09:01 UTC', '1,200', '3', '97'],
    ['two.example'],
    ['2027-01-01 09:03 UTC', '5', '', ''],
  ]);
});

const marksOf = (lost: number) =>
  [
    ...htmlText(dayBars([{ startMs: 0, gained: 200, lost }], 0, 3)).matchAll(
      /<text[^>]*>\s*([^<]*?)\s*<\/text>/g,
    ),
  ].map(([, mark]) => mark);

test('figures of a scale never stand on each other', () => {
  assert.deepEqual(marksOf(100), ['200', '0', '100']);
  assert.deepEqual(marksOf(9), ['200', '0']);
});

test('subscriptions by day have every day in the table, gained and lost to one scale', () => {
  const dayMs = 24 * 60 * 60 * 1000;
  const text = htmlText(dayBars([{ startMs: dayMs, gained: 100, lost: 50 }], 0, 3));
  const bars = ['gained', 'lost'].map((name) =>
    Number(new RegExp(`class="fill-${name}" d="M[\\d.]+ [\\d.]+h[\\d.]+v([\\d.]+)h`).exec(text)![1]),
  );
  assert.ok(Math.abs(bars[0]! / bars[1]! - 2) < 0.05, bars.join(' '));
  assert.deepEqual(
    [...text.matchAll(/<th scope="row">(.*?)<\/th>/g)].map(([, day]) => day),
    ['1970-01-01', '1970-01-02', '1970-01-03'],
  );
});
