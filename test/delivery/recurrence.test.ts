// Times of schedules: cron in a time zone, where clocks are put forward and back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstTimeAfter, readRecurrence } from '../../src/delivery/schedule/recurrence.ts';

function times(cron: string, timezone: string, after: string, count: number): readonly string[] {
  const nextAfter = readRecurrence(cron, timezone);
  const found: string[] = [];
  let timeMs = Date.parse(after);
  while (found.length < count) {
    timeMs = nextAfter(timeMs) ?? Number.NaN;
    found.push(new Date(timeMs).toISOString().slice(0, 16));
  }
  return found;
}

test('nine o’clock stays nine o’clock when summer time begins and ends', () => {
  assert.deepEqual(times('0 9 * * 1', 'Europe/Berlin', '2027-03-20T00:00Z', 2), [
    '2027-03-22T08:00',
    '2027-03-29T07:00',
  ]);
  assert.deepEqual(times('0 9 * * 1', 'Europe/Berlin', '2027-10-24T00:00Z', 2), [
    '2027-10-25T07:00',
    '2027-11-01T08:00',
  ]);
});

test('a fixed time that there is not comes at the end of the gap, once', () => {
  assert.deepEqual(times('30 2 * * *', 'Europe/Berlin', '2027-03-27T12:00Z', 2), [
    '2027-03-28T01:00',
    '2027-03-29T00:30',
  ]);
  assert.deepEqual(times('30 2,14 * * *', 'Europe/Berlin', '2027-03-27T15:00Z', 2), [
    '2027-03-28T01:00',
    '2027-03-28T12:30',
  ]);
});

test('a fixed time that there is not comes at midnight where that ends the gap', () => {
  for (const [zone, midnight] of [
    ['America/Nuuk', '2026-03-29T01:00'],
    ['America/Scoresbysund', '2026-03-29T01:00'],
  ] as const) {
    for (const minute of ['00', '30', '59']) {
      assert.deepEqual(times(`${minute} 23 * * *`, zone, '2026-03-28T12:00Z', 2), [
        midnight,
        `2026-03-30T00:${minute}`,
      ]);
      assert.deepEqual(times(`${minute} 23 28 3 *`, zone, '2026-03-28T12:00Z', 1), [midnight]);
    }
    assert.deepEqual(
      times('0-59/30 23 * * *', zone, '2026-03-28T12:00Z', 1),
      ['2026-03-30T00:00'],
      'with a step, the hour is left out',
    );
  }
});

test('a fixed time that there is twice comes the first time, and others come in both hours', () => {
  assert.deepEqual(times('30 2 * * *', 'Europe/Berlin', '2027-10-30T12:00Z', 2), [
    '2027-10-31T00:30',
    '2027-11-01T01:30',
  ]);
  assert.deepEqual(times('30 2 * * *', 'Europe/Berlin', '2027-10-31T01:10Z', 1), ['2027-11-01T01:30']);
  assert.deepEqual(times('*/30 * * * *', 'Europe/Berlin', '2027-10-30T23:50Z', 5), [
    '2027-10-31T00:00',
    '2027-10-31T00:30',
    '2027-10-31T01:00',
    '2027-10-31T01:30',
    '2027-10-31T02:00',
  ]);
  const spaced = ' 0\t *  * * *  ';
  assert.deepEqual(times(spaced, 'Europe/Berlin', '2027-10-30T23:50Z', 2), [
    '2027-10-31T00:00',
    '2027-10-31T01:00',
  ]);
});

test('a day must match both fields of days if one of them begins with "*"', () => {
  const sundays = ['2026-12-06T09:00', '2027-01-03T09:00', '2027-02-07T09:00'];
  for (const cron of ['0 9 1-7 * */7', '0 9 * * 0#1', '0 9 * * SUN#1']) {
    assert.deepEqual(times(cron, 'UTC', '2026-11-28T00:00Z', 3), sundays, cron);
  }
  const oddMondays = ['2026-12-07T09:00', '2026-12-21T09:00', '2027-01-11T09:00'];
  assert.deepEqual(times('0 9 */2 * 1', 'UTC', '2026-11-28T00:00Z', 3), oddMondays);
});

test('L is the last day, W the weekday nearest to a day', () => {
  for (const [cron, expected] of [
    ['0 9 L * *', ['2026-11-30T09:00', '2026-12-31T09:00']],
    ['0 9 * * 5L', ['2026-12-25T09:00', '2027-01-29T09:00']],
    [
      '0 9 15W * *',
      [
        '2026-12-15T09:00',
        '2027-01-15T09:00',
        '2027-02-15T09:00',
        '2027-03-15T09:00',
        '2027-04-15T09:00',
        '2027-05-14T09:00',
      ],
    ],
  ] as const)
    assert.deepEqual(times(cron, 'UTC', '2026-11-28T00:00Z', expected.length), expected, cron);
});

test('of a day of the month and a day of the week, either is enough', () => {
  assert.deepEqual(times('0 9 13 * 5', 'UTC', '2027-04-09T09:00Z', 3), [
    '2027-04-13T09:00',
    '2027-04-16T09:00',
    '2027-04-23T09:00',
  ]);
  // both 0 and 7 are Sunday
  assert.deepEqual(times('0 9 * * 7', 'UTC', '2027-04-09T09:00Z', 1), ['2027-04-11T09:00']);
});

test('a schedule is due first at a time that is to come', () => {
  const nowMs = Date.parse('2027-04-09T09:00Z');
  assert.equal(firstTimeAfter(nowMs, '0 9 * * *', 'UTC'), Date.parse('2027-04-10T09:00Z'));
  assert.throws(() => firstTimeAfter(nowMs, '0 0 30 2 *', 'UTC'), {
    code: 'ERR_SCHEDULE_INVALID',
    message: /"0 0 30 2 \*" names no time to come/,
  });
});

test('a day of the month that few years have is found', () => {
  assert.deepEqual(times('0 0 29 2 *', 'UTC', '2027-01-01T00:00Z', 1), ['2028-02-29T00:00']);
  assert.equal(readRecurrence('0 0 30 2 *', 'UTC')(Date.parse('2027-01-01T00:00Z')), undefined);
});

for (const [cron, timezone, words] of [
  ['0 9 * *', 'UTC', /"0 9 \* \*".*five fields/],
  ['0 0 9 * * 1', 'UTC', /five fields/],
  ['@daily', 'UTC', /five fields/],
  ['2027-01-01T00:00:00', 'UTC', /five fields/],
  ['', 'UTC', /five fields/],
  ['99 9 * * 1', 'UTC', /"99 9 \* \* 1" is not a cron expression: Invalid.* minute: 99/],
  ['0 9 * * 1', 'Europe/Nowhere', /"Europe\/Nowhere" is not a time zone/],
  ['0 9 * * 1', '', /"" is not a time zone/],
] as const) {
  test(`${JSON.stringify([cron, timezone])} is refused`, () => {
    assert.throws(() => readRecurrence(cron, timezone), { code: 'ERR_SCHEDULE_INVALID', message: words });
  });
}
