// Shows how many readers of a broadcast get which text, and when.
import {
  describeReaderCounts,
  formatReaderCount,
  type ReaderCounts,
} from '../../delivery/broadcast/count-readers.ts';
import { html, type Html } from '../../http/description/html.ts';
import { type Broadcast, isOver, type TimeToCome } from '../../store/broadcasts.ts';
import { facts, number, table, time, timeFromNow, wide } from './components.ts';
import { counted, figure } from './figures.ts';
import { describeLanguage } from './languages.ts';

/** Shows, before sending, how many readers get which text. */
export function renderReaderCounts(counts: ReaderCounts): Html {
  const { byText, lookedAt, isEstimate, fromMs, throughMs } = counts;
  const rows = [...byText].toSorted(([, one], [, other]) => other - one);
  return html`<h3>Readers</h3>
    ${
      isEstimate &&
      html`<p class="quiet small">
        Estimated from ${figure('review.lookedAt', lookedAt, '', counted('subscription'))} of the audience,
        chosen at random; to count all of them may take some seconds.
      </p>`
    }
    ${renderTexts(
      rows.map(
        ([language, count]) =>
          [
            language,
            figure('review.ofText', count, language, () => formatReaderCount(count, counts)),
          ] as const,
      ),
      'Nobody.',
    )}
    <ul>
      ${describeReaderCounts(counts).map(
        ([count, words]) =>
          html`<li>
            ${figure('review.readers', count, words, () => formatReaderCount(count, counts))} ${words}.
          </li>`,
      )}
    </ul>
    ${
      fromMs !== undefined &&
      facts([
        ['First', figure('review.from', fromMs, '', timeFromNow)],
        ['Last', figure('review.through', throughMs!, '', timeFromNow)],
      ])
    }`;
}

const renderTexts = (
  texts: readonly (readonly [language: string | undefined, recipients: string])[],
  none: string,
): Html =>
  table(
    'Recipients by text',
    texts.map(([language, recipients]) => ({
      Text: wide(language === undefined ? 'the message’s own' : describeLanguage(language)),
      Recipients: number(recipients),
    })),
    none,
  );

/** Shows which text readers get and when. Renders nothing if all get the same message at the same time. */
export function renderReaders(broadcast: Broadcast, toCome: readonly TimeToCome[]): Html {
  const { id, texts = [], recipients, state } = broadcast;
  const others = texts.reduce((sum, text) => sum + text.recipients, 0);
  const byText = [
    ...texts
      .toSorted((one, other) => other.recipients - one.recipients)
      .map(
        (text) =>
          [text.language, figure('broadcast.ofText', text.recipients, `${id} ${text.language}`)] as const,
      ),
    [undefined, figure('broadcast.ofText', recipients - others, `${id} `)] as const,
  ];
  if (state === 'preparing')
    return html`<p class="quiet">Who gets which text, and when, is being looked for.</p>`;
  return html`${texts.length > 0 && renderTexts(byText, '')}
  ${
    toCome.length > 0 &&
    table(
      'Times to come',
      toCome.map(({ atMs, recipients: count, timeZones }) => ({
        Time: figure('broadcast.toComeAt', atMs, id, time),
        Recipients: number(figure('broadcast.toCome', count, `${id} ${atMs}`)),
        'Time zones': wide(timeZones.join(', ')),
      })),
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

/** Whether readers may get different texts, or get the message at different times. */
export const hasReaders = ({ texts, localTime, quietHours }: Broadcast): boolean =>
  texts !== undefined || localTime !== undefined || quietHours !== undefined;
