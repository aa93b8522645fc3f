// How the readers of a broadcast differ, before it is sent and while it is: which text they get, and when.
import { countOf, formatCount } from '../../errors/format-count.ts';
import {
  describeReaderCounts,
  formatReaderCount,
  type ReaderCounts,
} from '../../delivery/broadcast/count-readers.ts';
import { html, type Html } from '../../http/description/html.ts';
import { isOver, type Broadcast, type TimeToCome } from '../../store/broadcasts.ts';
import { facts, table, time, timeFromNow } from './components.ts';
import { describeLanguage } from './languages.ts';

const shownZones = 5;

/** For the review. */
export function renderReaderCounts(counts: ReaderCounts): Html {
  const { byText, lookedAt, isEstimate, fromMs, throughMs } = counts;
  const rows = [...byText].toSorted(([, one], [, other]) => other - one);
  return html`<h3>Readers</h3>
    ${
      isEstimate &&
      html`<p class="quiet small">
        Estimated from ${countOf(lookedAt, 'subscription')} of the audience, chosen at random; to count all of
        them may take some seconds.
      </p>`
    }
    ${renderTexts(
      rows.map(([language, count]) => [language, formatReaderCount(count, counts)] as const),
      'Nobody.',
    )}
    <ul>
      ${describeReaderCounts(counts).map(([count, words]) => html`<li>${count} ${words}.</li>`)}
    </ul>
    ${
      fromMs !== undefined &&
      facts([
        ['First', timeFromNow(fromMs)],
        ['Last', timeFromNow(throughMs!)],
      ])
    }`;
}

const renderTexts = (
  texts: readonly (readonly [language: string | undefined, recipients: string])[],
  none: string,
): Html =>
  table(
    'Recipients by text',
    { Text: 'words', Recipients: 'number' },
    texts.map(([language, recipients]) => [
      language === undefined ? 'the message’s own' : describeLanguage(language),
      recipients,
    ]),
    none,
  );

/** For the page of a broadcast: nothing where all get the same. */
export function renderReaders(broadcast: Broadcast, toCome: readonly TimeToCome[]): Html {
  const { texts = [], recipients, state } = broadcast;
  const others = texts.reduce((sum, text) => sum + text.recipients, 0);
  const byText = [
    ...texts.map((text) => [text.language, formatCount(text.recipients)] as const),
    [undefined, formatCount(recipients - others)] as const,
  ];
  if (state === 'preparing')
    return html`<p class="quiet">Who gets which text, and when, is being looked for.</p>`;
  return html`${texts.length > 0 && renderTexts(byText, '')}
  ${
    toCome.length > 0 &&
    table(
      'Times to come',
      { Time: 'short', Recipients: 'number', 'Time zones': 'words' },
      toCome.map(({ atMs, recipients: count, timeZones }) => [
        time(atMs),
        formatCount(count),
        describeZones(timeZones),
      ]),
    )
  }
  ${
    toCome.length === 0 &&
    (broadcast.localTime ?? broadcast.quietHours) !== undefined &&
    html`<p class="quiet">
      ${isOver(broadcast) ? 'No time zone is to come.' : 'The time has come in every time zone.'}
    </p>`
  }`;
}

const describeZones = (zones: readonly string[]): string =>
  zones.length > shownZones
    ? `${zones.slice(0, shownZones).join(', ')} and ${formatCount(zones.length - shownZones)} others`
    : zones.join(', ');

/** Whether its readers differ in what they get, or when. */
export const hasReaders = ({ texts, localTime, quietHours }: Broadcast): boolean =>
  texts !== undefined || localTime !== undefined || quietHours !== undefined;
