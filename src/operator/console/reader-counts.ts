// Shows which text readers of a broadcast get and when, and the stored data of a reader.
import type { Channel, Choices } from '../../audience/channels.ts';
import type { Person } from '../../audience/person.ts';
import {
  describeReaderCounts,
  formatReaderCount,
  type ReaderCounts,
} from '../../delivery/broadcast/count-readers.ts';
import { lookUp } from '../../errors/check-options.ts';
import { html, type Html } from '../../http/description/html.ts';
import { type Broadcast, isOver, type TimeToCome } from '../../store/broadcasts.ts';
import { facts, number, onOff, prose, table, time, timeFromNow, untrusted, wide } from './components.ts';
import { counted, figure } from './figures.ts';
import { describeLanguage } from './languages.ts';
import { changes, postForm } from './page.ts';
import type { ConsoleSession } from './sessions.ts';

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

const ofBrowsers = 'that of each browser';

export const renderPerson = ({ user, data, language = ofBrowsers, timeZone = ofBrowsers }: Person): Html =>
  facts([
    ['Language', language],
    ['Time zone', timeZone],
    ...Object.entries(data).map(
      ([name, value]) =>
        [
          `Data: ${name}`,
          typeof value === 'number' ? figure('person.data', value, `${user} ${name}`, String) : prose(value),
        ] as const,
    ),
  ]);

/** Lists the channels, each with the person's choice and buttons that change this choice. */
export const renderChoices = (
  { user, channels: made }: Person,
  channels: readonly Channel[],
  session: ConsoleSession,
): Html =>
  table(
    'Channels',
    channels.map(({ name, title, isOnByDefault }) => {
      const isChosen = Object.hasOwn(made, name);
      const isOn = isChosen ? lookUp(made, name)! : isOnByDefault;
      const button = (text: string, choice: string): Html =>
        postForm(session, '/console/people/choose', text, {
          style: 'small-button',
          fields: { user, channel: name, choice },
        });
      return {
        Channel: wide(html`${prose(title)} <code class="quiet">${untrusted(name)}</code>`),
        State: figure('person.channel', Number(isOn), `${user} ${name}`, () => onOff(isOn)),
        Because: wide(isChosen ? 'chosen' : 'by default; a subscription may have a choice of its own'),
        Change: changes(
          session,
          html`${isOn ? button('Turn off', 'off') : button('Turn on', 'on')}
          ${isChosen && button('Withdraw', 'default')}`,
        ),
      };
    }),
    'There are no channels yet.',
  );

/** Shows the channels that a subscription has switched on or off. */
export const renderOwnChoices = (choices: Choices): Html | string => {
  const made = Object.entries(choices);
  return made.length === 0
    ? 'none'
    : html`${made.map(([name, isOn]) => html`<code>${untrusted(name)}</code> ${onOff(isOn)} `)}`;
};
