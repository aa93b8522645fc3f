// What was not accepted, by push service and reason, and how often: every answer is counted, none is a sample.
import { formatCount } from '../../errors/format-count.ts';
import { countMeanings } from '../../delivery/broadcast/count-meanings.ts';
import { meaningOf } from '../../delivery/broadcast/reason-meanings.ts';
import { html, type Html } from '../../http/description/html.ts';
import { pushServiceName } from '../../protocol/known-push-services.ts';
import type { AnswerCount } from '../../store/attempts.ts';
import { renderWords } from './attempts-table.ts';
import { badge, capitalize, table, time } from './components.ts';

const shownAnswers = 50;

/** @param none said where there is none */
export function answersTable(answers: readonly AnswerCount[], none: string): Html {
  const kinds = Map.groupBy(answers, ({ origin, outcome, reason, status, detail }) =>
    JSON.stringify([pushServiceName(origin), outcome, reason, status, detail]),
  );
  const sums = [...kinds.values()]
    .map((same) => ({
      ...same[0]!,
      rows: same.reduce((sum, { rows }) => sum + rows, 0),
      lastAtMs: Math.max(...same.map(({ lastAtMs }) => lastAtMs)),
    }))
    .sort((one, other) => other.rows - one.rows);
  return html`${table(
    'Reasons by push service',
    {
      'Push service': 'short',
      Outcome: 'short',
      Status: 'number',
      Times: 'number',
      'What it said, and what that means': 'words',
      Last: 'short',
    },
    sums
      .slice(0, shownAnswers)
      .map((sum) => [
        pushServiceName(sum.origin),
        badge(sum.outcome, sum.outcome === 'rejected' ? 'bad' : 'plain'),
        sum.status === undefined ? '' : String(sum.status),
        formatCount(sum.rows),
        explain(sum),
        time(sum.lastAtMs),
      ]),
    none,
  )}
  ${renderRest(sums.slice(shownAnswers))}`;
}

function renderRest(rest: readonly AnswerCount[]): Html | false {
  const times = rest.reduce((sum, { rows }) => sum + rows, 0);
  return (
    rest.length > 0 &&
    html`<p class="quiet">
      and ${formatCount(rest.length)} rarer answers, ${formatCount(times)} times together
    </p>`
  );
}

/** With what can be done about it. */
function explain({ outcome, reason, detail }: AnswerCount): Html {
  if (reason === undefined && detail === undefined)
    return html`${outcome !== 'retry' && `${capitalize(countMeanings[outcome])}.`}`;
  const remedy = reason === undefined ? '' : meaningOf(reason).remedy;
  return html`${renderWords({ reason, detail })}${remedy !== '' && html` <span class="quiet">${remedy}</span>`}`;
}
