// Times that operators type in their own zone, and durations in words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatSpan } from '../../src/operator/console/components.ts';
import {
  describeLocalTime,
  readLocalTime,
  toInterval,
  toLocalTime,
} from '../../src/operator/console/local-time-input.ts';

const isoOf = (text: string, zone = ''): string =>
  new Date(readLocalTime(text, { zone }, 'startAt')).toISOString();

/** A check of an error's words, and of the field that it names. */
const fault = (pointer: string, words: RegExp) => (error: { fields?: readonly object[] } & Error) => {
  assert.match(error.message, words);
  assert.deepEqual(
    (error.fields as { pointer: string }[]).map((field) => field.pointer),
    [pointer],
  );
  return true;
};

test('a time is read in the zone of its form, in UTC where it names none', () => {
  for (const [text, zone, iso] of [
    ['2027-01-01T09:00', '', '2027-01-01T09:00:00.000Z'],
    ['2027-01-01T09:00', 'Europe/Berlin', '2027-01-01T08:00:00.000Z'],
    ['2027-07-01T09:00:30', 'Europe/Berlin', '2027-07-01T07:00:30.000Z'],
    ['2026-11-22T23:59', 'America/New_York', '2026-11-23T04:59:00.000Z'],
    ['2027-01-01', 'Asia/Kolkata', '2026-12-31T18:30:00.000Z'],
    // It comes twice: the first is meant.
    ['2027-10-31T02:30', 'Europe/Berlin', '2027-10-31T00:30:00.000Z'],
    ['2027-03-28T03:00', 'Europe/Berlin', '2027-03-28T01:00:00.000Z'],
  ] as const) {
    assert.equal(isoOf(text, zone), iso, `${text} ${zone}`);
    if (text.length === 16) assert.equal(toLocalTime(Date.parse(iso), { zone }), text);
  }
});

test('what is no time, or none in its zone, is refused in words that name it', () => {
  for (const text of ['tomorrow', '2027-02-31', '2027-02-31T10:00', '2027-01-01T25:00', '']) {
    assert.throws(() => isoOf(text), fault('/startAt', /is not a time; give one such as 2027-01-01T09:00/));
  }
  assert.throws(
    () => isoOf('2027-03-28T02:30', 'Europe/Berlin'),
    fault('/startAt', /^2027-03-28 02:30 does not exist in Europe\/Berlin/),
  );
  assert.throws(() => isoOf('2027-01-01', 'Mars/Base'), fault('/zone', /"Mars\/Base" is not a time zone/));
});

test('durations are said in the largest units that they have', () => {
  for (const [seconds, words] of [
    [0, '0 s'],
    [0.3, '1 s'],
    [65, '1 min 5 s'],
    [3909, '1 h 5 min'],
    [86_400, '1 day'],
    [90_061, '1 day 1 h'],
    [2_419_200, '28 days'],
    [3600 * 24 + 5, '1 day'],
  ] as const) {
    assert.equal(formatSpan(seconds), words);
  }
  assert.equal(formatSpan(90_061, 4), '1 day 1 h 1 min 1 s');
});

test('a time that was typed is described with its zone, its offset and how far it is, and says that it comes twice', () => {
  const nowMs = Date.UTC(2027, 0, 1);
  for (const [iso, zone, words] of [
    ['2027-01-01T03:00:00Z', 'UTC', '2027-01-01 03:00 UTC, in 3 h'],
    ['2027-01-01T00:00:20Z', 'UTC', '2027-01-01 00:00 UTC, in 20 s'],
    ['2027-01-03T04:10:00Z', 'America/St_Johns', '2027-01-03 00:40 America/St_Johns (UTC-03:30), in 2 days'],
    ['2026-12-31T23:55:00Z', 'Asia/Kathmandu', '2027-01-01 05:40 Asia/Kathmandu (UTC+05:45), 5 min ago'],
    [
      '2027-10-31T00:30:00Z',
      'Europe/Berlin',
      '2027-10-31 02:30 Europe/Berlin (UTC+02:00), the first of two times that day, in 303 days',
    ],
  ] as const)
    assert.equal(describeLocalTime(Date.parse(iso), { zone }, nowMs), words);
  // a year of which one digit is typed is long past, and no fault
  assert.equal(readLocalTime('0002-01-01T00:00', { zone: 'Europe/Berlin' }, 'startAt') < 0, true);
});

test('days of a list are whole days of the zone, whatever its clocks do', () => {
  for (const [zone, day, since, until] of [
    ['', '2027-01-01', '2027-01-01T00:00:00.000Z', '2027-01-02T00:00:00.000Z'],
    ['Europe/Berlin', '2027-03-28', '2027-03-27T23:00:00.000Z', '2027-03-28T22:00:00.000Z'],
    // there is no midnight: at 00:00 clocks show 01:00
    ['Africa/Cairo', '2026-04-24', '2026-04-23T22:00:00.000Z', '2026-04-24T21:00:00.000Z'],
  ] as const) {
    const { sinceMs, untilMs } = toInterval({ since: day, until: day, zone });
    assert.deepEqual(
      [sinceMs, untilMs].map((atMs) => new Date(atMs!).toISOString()),
      [since, until],
    );
  }
  assert.deepEqual(toInterval({ since: 'yesterday', until: '' }), { sinceMs: undefined, untilMs: undefined });
});
