// The review before sending: the message, the number of recipients, and the time.
import { randomUUID } from 'node:crypto';
import {
  formatAudienceSize,
  nameAudienceSize,
  type AudienceSize,
} from '../../delivery/broadcast/estimate-audience.ts';
import { formatAskedAudience } from '../../delivery/broadcast/format-broadcast.ts';
import { type Forecast, formatForecast } from '../../delivery/broadcast/progress.ts';
import type { OutcomeGroup } from '../../store/broadcasts.ts';
import { html, type Html } from '../../http/description/html.ts';
import { maxPlaintextBytes } from '../../protocol/message-encryption.ts';
import type { ReaderCounts } from '../../delivery/broadcast/count-readers.ts';
import { deliveryOptions } from '../../store/delivery-options.ts';
import { card, facts, notice, timeFromNow } from './components.ts';
import { figure } from './figures.ts';
import type { Fields } from './forms.ts';
import { describeLocalTime } from './local-time-input.ts';
import { postForm } from './page.ts';
import { renderPreviews, type ShownMessage } from './preview.ts';
import { renderReaderCounts } from './reader-counts.ts';
import type { ConsoleSession } from './sessions.ts';

interface Review {
  readonly payload: Uint8Array;
  readonly startAt: Date | undefined;
  readonly nowMs: number;
  readonly shown: ShownMessage;
  /** Present if readers may get different texts, or get the message at different times. */
  readonly readers?: ReaderCounts | undefined;
  /** Absent if it is not known. */
  readonly forecast?: Forecast | undefined;
}

export function renderReview(
  fields: Fields,
  review: Review,
  audienceSize: AudienceSize,
  session: ConsoleSession,
): Html {
  const { startAt, readers } = review;
  const size = readers?.reached ?? audienceSize;
  const isExact = size.kind === 'exact';
  const steps = (step: string, button: string) =>
    postForm(session, '/console/send', button, { fields: { ...fields, step } });
  return renderPage(
    fields,
    review,
    html`${facts([
        [
          'Recipients',
          html`<strong
            >${figure('review.recipients', size.count, '', () => formatAudienceSize(size))}</strong
          >`,
        ],
        ['Audience', describeAudience(fields)],
        ['Start', describeStart(review, fields)],
        ...describeTimes(fields),
        ...describeForecast(review, size),
      ])}
      ${readers && renderReaderCounts(readers)}
      ${isExact && size.count === 0 && notice('warn', 'Nobody would get this message.')}
      ${
        !isExact &&
        html`<p class="quiet small">
          ${
            size.kind === 'most'
              ? 'Some of them may not be stored'
              : 'The number comes from a sample of the subscriptions'
          };
          the page of the broadcast has the exact one. To count them exactly here may take some seconds.
        </p>`
      }
      <div class="buttons">
        ${postForm(
          session,
          '/console/send/confirm',
          `${startAt === undefined && !fields['localTime'] ? 'Send to' : 'Schedule for'} ${figure('review.recipients', size.count, '', () => nameAudienceSize(size))}`,
          { style: 'primary', fields },
        )}
        ${!isExact && steps('count', 'Count exactly')} ${steps('test', 'Send to the test group…')}
        ${steps('edit', 'Back to editing')}
      </div>`,
  );
}

export function renderTestReview(
  fields: Fields,
  review: Review,
  audienceSize: AudienceSize,
  session: ConsoleSession,
): Html {
  const { testTag = '' } = fields;
  const size = review.readers?.reached ?? audienceSize;
  return renderPage(
    fields,
    review,
    html`${facts([
        [
          'Recipients',
          html`<strong
            >${figure('review.recipients', size.count, '', () => formatAudienceSize(size))}</strong
          >`,
        ],
        ['Test group', `subscriptions with the tag ${testTag}`],
        ['Start', 'now'],
      ])}
      ${review.readers && renderReaderCounts(review.readers)}
      ${
        size.count === 0 &&
        notice(
          'warn',
          audienceSize.count === 0
            ? `No subscription has the tag ${testTag}.`
            : 'Nobody would get this message.',
          html`<p>
            Add it to your own with <code>deskbell subscriptions tag</code>, or choose another tag. Ids are on
            the page <a href="/console/subscriptions">Subscriptions</a>.
          </p>`,
        )
      }
      <div class="buttons">
        ${
          size.count > 0 &&
          postForm(
            session,
            '/console/send/test-group',
            `Send to ${figure('review.recipients', size.count, '', () => nameAudienceSize(size))} of the test group`,
            // `testKey` prevents a second test if the form is sent twice; the form's own key is used for the broadcast
            { style: 'primary', fields: { ...fields, testKey: randomUUID() } },
          )
        }
        ${postForm(session, '/console/send', 'Back to editing', { fields: { ...fields, step: 'edit' } })}
      </div>`,
  );
}

/** Says when the broadcast starts; for a local time, when the first reader gets it. */
function describeStart({ startAt, nowMs, readers }: Review, fields: Fields): string | Html {
  if (startAt !== undefined)
    return figure('review.start', startAt.getTime(), '', (atMs) => describeLocalTime(atMs, fields, nowMs));
  const firstMs = fields['localTime'] ? readers?.fromMs : undefined;
  return firstMs === undefined || firstMs <= nowMs ? 'now' : figure('review.from', firstMs, '', timeFromNow);
}

/** How long the broadcast will take, in the words of `send --dry-run`. */
function describeForecast(
  { forecast: known }: Review,
  { count }: AudienceSize,
): readonly (readonly [string, string | Html])[] {
  if (count === 0) return [];
  const words = figure('review.seconds', known?.seconds ?? 'not known', '', () => formatForecast(known));
  return [
    ['Time to send', words],
    ...(known ? [['Done by', figure('review.doneAt', known.doneAtMs, '', timeFromNow)] as const] : []),
  ];
}

/** Options whose effect depends on the reader, with the typed values. */
const describeTimes = (fields: Fields): readonly (readonly [string, string])[] =>
  (['channel', 'skipInactive', 'localTime', 'quietHours', 'timeZone'] as const)
    .filter((name) => fields[name])
    .map((name) => [deliveryOptions[name].field.label, fields[name]!]);

const renderPage = (fields: Fields, { payload, shown }: Review, audience: Html): Html =>
  html`<div class="columns">
    ${card('To whom, and when', audience)}
    ${card(
      'What is sent',
      html`${shown.note !== '' && html`<p class="quiet small">${shown.note}</p>`}
        ${renderPreviews({ ...fields, ...shown.fields })}
        <details>
          <summary>
            Payload, ${figure('review.bytes', payload.length)} of
            ${figure('draft.maxBytes', maxPlaintextBytes)} bytes
          </summary>
          <pre>${Buffer.from(payload).toString()}</pre>
        </details>`,
    )}
  </div>`;

function describeAudience(fields: Fields): string {
  switch (fields['audience']) {
    case 'user':
      return `devices of the user ${fields['user']}`;
    case 'tags':
      return [
        ['all of', fields['tagsAll']],
        ['one of', fields['tagsAny']],
        ['none of', fields['tagsNone']],
      ]
        .filter(([, tags]) => tags)
        .map((part) => part.join(' '))
        .join(', ');
    case 'ids':
      return `ids ${fields['ids']}`;
    case 'outcome':
      return formatAskedAudience({
        broadcast: Number(fields['broadcast']),
        outcome: fields['outcome'] as OutcomeGroup,
      });
    default:
      return 'every subscription';
  }
}
