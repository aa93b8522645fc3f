// The tables of what was measured, with the goals beside the figures.
import { formatSpread, spreadOf, type Spread } from '../measure/statistics.ts';
import { printTable } from '../measure/table.ts';
import type { EcMethod } from './ec-limit.ts';
import type { EntrantId, Entrants } from './entrants.ts';
import type { Results } from './results.ts';

/** In the order of the table, with goals for CPU time (times less than `web-push`) and for the share of the EC limit of
 *  one message after the other, which those who take eight at a time can pass. */
const costs: readonly { readonly id: EntrantId; readonly timesLess?: number; readonly share?: number }[] = [
  { id: 'web-push' },
  { id: 'web-push again' },
  { id: 'web-push tuned' },
  { id: 'web-push-neo' },
  { id: 'block65' },
  { id: 'pushforge' },
  { id: 'single builtin' },
  { id: 'single accelerated', timesLess: 9 },
  { id: 'stand-in builtin' },
  { id: 'stand-in accelerated', timesLess: 4 },
  { id: 'broadcast builtin', timesLess: 3.35 },
  { id: 'broadcast openssl', timesLess: 6.9 },
  { id: 'broadcast accelerated', timesLess: 16, share: 1.6 },
];

export function printCosts(results: Results, entrants: Entrants): void {
  const rows = costs
    .filter(({ id }) => results.has(id))
    .map(({ id, timesLess, share }) => {
      const less = results.ratio('cpuMicroseconds', 'web-push', id);
      const ofLimit = results.shareOfLimit(id, 'openssl');
      const slope = results.slope(id);
      return [
        entrants[id]?.label ?? id,
        String(entrants[id]?.run.workload.count),
        formatSpread(results.spread(id, 'cpuMicroseconds'), 0),
        slope === undefined ? '' : formatSpread(slope, 1),
        id === 'web-push' ? '' : formatSpread(less, 2),
        judge(timesLess, less),
        formatSpread(ofLimit, 2),
        judge(share, ofLimit),
        results.spread(id, 'perSecond').median.toFixed(0),
        results.spread(id, 'peakMegabytes').median.toFixed(0),
      ];
    });
  const head = [
    'sender',
    'messages',
    'CPU µs',
    'slope',
    'times less',
    'goal',
    'of OpenSSL’s EC limit',
    'goal',
    'per second',
    'MB',
  ];
  printTable('CPU time per delivered message: medians (range)', [head, ...rows]);
  console.log(
    'The slope is what each further message costs, between a run of a quarter or a half and this one.',
  );
  if (results.ecLimits.length === 0) {
    console.log('There is no accelerator here: neither it nor the EC limits were measured.\n');
    return;
  }
  const limit = (method: EcMethod): string => formatSpread(results.limit(method), 1);
  console.log(`The EC limit is ${limit('openssl')} µs per message on OpenSSL, one after the other.`);
  if (Number.isNaN(results.limit('multi-buffer').median)) console.log('This processor has no IFMA.\n');
  else {
    const share = formatSpread(results.shareOfLimit('broadcast accelerated', 'multi-buffer'), 2);
    const slopeShare = formatSpread(results.slopeShareOfLimit('broadcast accelerated', 'multi-buffer'), 2);
    console.log(
      `Eight at a time it is ${limit('multi-buffer')} µs: a broadcast reaches ${share} of that, ${slopeShare} as a slope.\n`,
    );
  }
}

export function printSpeeds(results: Results, entrants: Entrants): void {
  const best = bestOf(results);
  const speeds: readonly { readonly id: EntrantId; readonly against: EntrantId; readonly goal?: number }[] = [
    { id: 'broadcast by two', against: best, goal: 1.5 },
    { id: 'broadcast relayed', against: best },
    { id: 'broadcast far', against: 'broadcast relayed', goal: 0.9 },
    { id: 'web-push far', against: 'web-push' },
  ];
  const rows = speeds.map(({ id, against, goal }) => {
    const ratio = results.ratio('perSecond', id, against);
    return [
      entrants[id]?.label ?? id,
      results.spread(id, 'perSecond').median.toFixed(0),
      entrants[against]?.label ?? against,
      results.spread(against, 'perSecond').median.toFixed(0),
      formatSpread(ratio, 2),
      judge(goal, ratio),
    ];
  });
  const head = ['throughput', 'per second', 'against', 'per second', 'ratio', 'goal'];
  printTable('Messages per second: medians (range)', [head, ...rows]);
}

/** Two threads and the push service share the cores: what those can do at most bounds the ratio. */
export function printTwoThreadBound(results: Results, cores: number): void {
  const { perSecond, share } = results.bound('broadcast by two', cores);
  if (Number.isNaN(perSecond.median)) return;
  const atMost = perSecond.median / results.spread(bestOf(results), 'perSecond').median;
  console.log(
    `With every core busy with nothing but two threads and their push service, ${cores} cores do ` +
      `${perSecond.median.toFixed(0)} messages a second, ${atMost.toFixed(2)} × one thread: ` +
      `two threads reach ${formatSpread(share, 2)} of that.`,
  );
  if (results.ecScalings.length === 0) return console.log('');
  const scaling = formatSpread(spreadOf(results.ecScalings), 2);
  console.log(`Two processes that make only keys and secrets do ${scaling} × as much as one.\n`);
}

/** Sender and push service share the cores: what the push service takes is not there for the sender's second thread. */
export function printServiceCosts(results: Results): void {
  const of = (id: EntrantId): string => results.spread(id, 'serviceMicroseconds').median.toFixed(0);
  console.log(
    `On the same cores the push service took ${of(bestOf(results))} µs per message of a broadcast, ` +
      `${of('broadcast far')} µs from 50 ms away, and ${of('web-push')} µs of web-push's, over HTTP/1.1.\n`,
  );
}

function bestOf(results: Results): EntrantId {
  return results.has('broadcast accelerated') ? 'broadcast accelerated' : 'broadcast builtin';
}

function judge(goal: number | undefined, { median }: Spread): string {
  if (goal === undefined || Number.isNaN(median)) return '';
  return `≥ ${goal} ${median >= goal ? 'met' : 'missed'}`;
}
