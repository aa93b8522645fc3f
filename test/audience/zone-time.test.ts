// Wall-clock times of time zones, and quiet hours: in summer time, at its begin and at its end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  endOfQuietHours,
  formatWallTime,
  isTimeZone,
  nextTimeOfDay,
  parseQuietHours,
  parseTimeOfDay,
  parseWallTime,
  toInstant,
  toWallTime,
} from '../../src/audience/zone-time.ts';
import { createQuietTimes, createReaderTimes, type TimeOptions } from '../../src/store/reader-times.ts';
import { createGroups } from '../../src/store/split-audience.ts';

const berlin = 'Europe/Berlin';
const iso = (atMs: number | undefined): string | undefined =>
  atMs === undefined ? undefined : new Date(atMs).toISOString().slice(0, 16);
const instant = (wall: string, zone: string) => iso(toInstant(parseWallTime(wall)!, zone));

const next = (text: string, zone: string, from: string) =>
  formatWallTime(nextTimeOfDay(parseTimeOfDay(text)!, zone, Date.parse(from)));

test('a wall-clock time is the instant at which clocks of its zone show it', () => {
  assert.equal(instant('2026-12-01T09:00', berlin), '2026-12-01T08:00');
  assert.equal(instant('2026-07-01T09:00', berlin), '2026-07-01T07:00');
  assert.equal(instant('2026-12-01T09:00', 'Pacific/Kiritimati'), '2026-11-30T19:00');
  assert.equal(instant('2026-12-01T09:00', 'Etc/GMT+12'), '2026-12-01T21:00');
  assert.equal(instant('2026-12-01T09:00', 'Asia/Kathmandu'), '2026-12-01T03:15');
});

test('in years of less than four digits, and on the last day that has four, all zones are UTC', () => {
  for (const text of ['0002-01-01T09:00', '0020-01-01T09:00', '0999-12-31T09:00', '9999-12-31T23:59']) {
    assert.equal(instant(text, berlin), text);
    assert.equal(formatWallTime(toWallTime(Date.parse(`${text}Z`), berlin)), text);
  }
});

test('a time in the gap of summer time is the next minute that there is', () => {
  assert.equal(instant('2027-03-28T02:00', berlin), '2027-03-28T01:00');
  assert.equal(instant('2027-03-28T02:30', berlin), '2027-03-28T01:00');
  assert.equal(instant('2027-03-28T03:00', berlin), '2027-03-28T01:00');
  // half an hour is left out
  assert.equal(instant('2026-10-04T02:15', 'Australia/Lord_Howe'), '2026-10-03T15:30');
  // a whole day was
  assert.equal(instant('2011-12-30T12:00', 'Pacific/Apia'), '2011-12-30T10:00');
});

test('a time in the hour that comes twice is the first of the two', () => {
  assert.equal(instant('2026-10-25T02:30', berlin), '2026-10-25T00:30');
  const first = Date.parse('2026-10-25T00:30Z');
  assert.equal(iso(toInstant(parseWallTime('2026-10-25T02:30')!, berlin, first)), '2026-10-25T01:30');
});

test('the next time of a day is counted in days of the zone, from the minute on', () => {
  assert.equal(next('09:00', berlin, '2026-12-01T07:59:59Z'), '2026-12-01T09:00');
  assert.equal(next('09:00', berlin, '2026-12-01T08:00:59Z'), '2026-12-01T09:00');
  assert.equal(next('09:00', berlin, '2026-12-01T08:01:00Z'), '2026-12-02T09:00');
  assert.equal(next('09:00', 'Asia/Tokyo', '2026-12-01T23:00:00Z'), '2026-12-02T09:00');
});

test('what is no time and no zone is none', () => {
  for (const text of ['2026-02-31T09:00', '2026-12-01 09:00', '2026-12-01T09:00Z', '2026-12-01T25:00', ''])
    assert.equal(parseWallTime(text), undefined, text);
  for (const text of ['24:00', '9:00', '09:60', '09', ''])
    assert.equal(parseTimeOfDay(text), undefined, text);
  assert.ok(isTimeZone(berlin) && isTimeZone('UTC'));
  assert.ok(!isTimeZone('Mars/Olympus') && !isTimeZone(''));
});

const quiet = parseQuietHours('22:00-07:00');
const quietEnd = (at: string, zone: string, hours = quiet) =>
  iso(endOfQuietHours(hours, zone, Date.parse(at)));

test('quiet hours last over midnight, and end at the clock of the zone', () => {
  assert.equal(quietEnd('2026-12-01T20:59:59Z', berlin), undefined);
  assert.equal(quietEnd('2026-12-01T21:00:00Z', berlin), '2026-12-02T06:00');
  assert.equal(quietEnd('2026-12-02T05:59:59Z', berlin), '2026-12-02T06:00');
  assert.equal(quietEnd('2026-12-02T06:00:00Z', berlin), undefined);
  assert.equal(quietEnd('2026-12-01T21:00:00Z', 'America/New_York'), undefined);
  const lunch = parseQuietHours('12:00-13:30');
  assert.equal(quietEnd('2026-12-01T11:15:00Z', berlin, lunch), '2026-12-01T12:30');
  assert.equal(quietEnd('2026-12-01T12:30:00Z', berlin, lunch), undefined);
  const evening = parseQuietHours('22:00-00:00');
  assert.equal(quietEnd('2026-12-01T22:30:00Z', berlin, evening), '2026-12-01T23:00');
  assert.equal(quietEnd('2026-12-01T23:00:00Z', berlin, evening), undefined);
});

test('quiet hours follow the clocks as these are put forward and back', () => {
  assert.equal(quietEnd('2027-03-27T22:00:00Z', berlin), '2027-03-28T05:00');
  assert.equal(quietEnd('2026-10-24T21:00:00Z', berlin), '2026-10-25T06:00');
  const early = parseQuietHours('22:00-02:30');
  assert.equal(quietEnd('2027-03-28T00:30:00Z', berlin, early), '2027-03-28T01:00');
  // 02:10 comes twice, and so does the end
  assert.equal(quietEnd('2026-10-25T00:10:00Z', berlin, early), '2026-10-25T00:30');
  assert.equal(quietEnd('2026-10-25T00:40:00Z', berlin, early), undefined);
  assert.equal(quietEnd('2026-10-25T01:10:00Z', berlin, early), '2026-10-25T01:30');
});

test('what waits is asked anew each minute whether its reader has quiet hours, by zone', () => {
  const endAt = createQuietTimes({ quietHours: '22:00-07:00', timeZone: berlin })!;
  const at = (time: string, zone?: string) => iso(endAt(zone, Date.parse(time)));
  assert.equal(at('2026-12-01T20:59:59Z'), undefined);
  assert.equal(at('2026-12-01T20:59:59Z', 'Asia/Tokyo'), '2026-12-01T22:00');
  assert.equal(at('2026-12-01T21:00:00Z'), '2026-12-02T06:00');
  assert.equal(at('2026-12-01T21:00:30Z', 'UTC'), undefined);
  assert.equal(at('2026-12-01T21:00:45Z'), '2026-12-02T06:00');
  assert.equal(at('2026-12-01T22:00:00Z', 'Asia/Tokyo'), undefined);
  assert.equal(at('2026-12-02T06:00:00Z'), undefined);
});

test('a local time is over once its minute is', () => {
  for (const [start, isPassed] of [
    ['2026-12-01T08:00:59Z', false],
    ['2026-12-01T08:01:00Z', true],
  ] as const) {
    const startAtMs = Date.parse(start);
    const timeOf = createReaderTimes({ localTime: '2026-12-01T09:00', startAtMs, ttlSeconds: 60 });
    assert.equal(timeOf(berlin).isPassed, isPassed, start);
  }
});

test('a local time that is over means the next day, unless it is to be sent at once', () => {
  const times = {
    localTime: '2026-12-01T09:00',
    startAtMs: Date.parse('2026-12-01T11:00:20Z'),
    ttlSeconds: 7200,
  };
  const fromOf = (changes: Partial<TimeOptions> = {}, zone = berlin) =>
    new Date(createReaderTimes({ ...times, ...changes })(zone).fromMs).toISOString();
  assert.equal(fromOf(), '2026-12-02T08:00:00.000Z');
  assert.equal(fromOf({}, 'America/New_York'), '2026-12-01T14:00:00.000Z');
  assert.equal(fromOf({ ifTimePassed: 'send' }), '2026-12-01T11:00:20.000Z');
  assert.equal(fromOf({ startAtMs: Date.parse('2026-12-24T11:00:00Z') }), '2026-12-25T08:00:00.000Z');
  assert.equal(fromOf({ startAtMs: Date.parse('2126-12-24T11:00:00Z') }), '2126-12-25T08:00:00.000Z');
  // what quiet hours hold is not over before they are, whether it is asked at the start or when the first reader gets it
  const held = { localTime: '2026-12-01T23:00', quietHours: '22:00-07:00', ttlSeconds: 43_200 };
  for (const start of ['2026-12-01T12:00:00Z', '2026-12-01T22:30:00Z', '2026-12-02T06:00:00Z'])
    assert.equal(fromOf({ ...held, startAtMs: Date.parse(start) }), '2026-12-02T06:00:00.000Z', start);
  assert.equal(
    fromOf({ ...held, startAtMs: Date.parse('2026-12-02T06:01:00Z') }),
    '2026-12-03T06:00:00.000Z',
  );
});

test('zones are one for a broadcast only where their clocks agree until it expires', () => {
  const startAtMs = Date.parse('2027-03-27T08:00:00Z');
  const times = { quietHours: '22:00-07:00', timeZone: 'UTC', startAtMs, ttlSeconds: 48 * 3600 };
  const groupOf = createGroups({ languages: [], times });
  assert.equal(groupOf(undefined, 'Europe/Rome'), groupOf(undefined, berlin));
  // they agree until Berlin's go forward
  assert.notEqual(groupOf(undefined, 'Africa/Lagos'), groupOf(undefined, berlin));
  assert.notEqual(groupOf(undefined, 'Africa/Lagos'), groupOf(undefined, 'UTC'));
});

test('quiet hours are two times of a day that differ', () => {
  for (const text of ['22:00', '22:00-22:00', '22:00-24:00', '22-07', '22:00-07:00-08:00', '']) {
    assert.throws(() => parseQuietHours(text), { code: 'ERR_MESSAGE_INVALID', message: /22:00-07:00/ }, text);
  }
});
