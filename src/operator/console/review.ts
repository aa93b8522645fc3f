// The review before sending: the message, the number of recipients, and the time.
import { randomUUID } from 'node:crypto';
import {
  formatAudienceSize,
  nameAudienceSize,
  type AudienceSize,
} from '../../delivery/broadcast/estimate-audience.ts';
import { formatAskedAudience } from '../../delivery/broadcast/format-broadcast.ts';
import { type Forecast, formatForecast } from '../../delivery/broadcast/forecast.ts';
import { html, type Html } from '../../http/description/html.ts';
import { maxPlaintextBytes } from '../../protocol/message-encryption.ts';
import type { ReaderCounts } from '../../delivery/broadcast/count-readers.ts';
import { deliveryOptions } from '../../store/delivery-options.ts';
import { card, facts, notice, timeFromNow, untrusted } from './components.ts';
import { figure } from './figures.ts';
import type { Fields } from './forms.ts';
import { describeLocalTime } from './local-time-input.ts';
import type { ComposedAudience } from './message-form.ts';
import { postForm } from './page.ts';
import { renderPreviews, type ShownMessage } from './preview.ts';
import { renderReaderCounts } from './reader-counts.ts';
import type { ConsoleSession } from './sessions.ts';

export interface Review {
  readonly audience: ComposedAudience;
  readonly audienceSize: AudienceSize;
  /** True if the audience is the test group. */
  readonly isTest: boolean;
  readonly payload: Uint8Array;
  readonly startAt: Date | undefined;
  readonly nowMs: number;
  readonly shown: ShownMessage;
  /** Present if readers may get different texts, or get the message at different times. */
  readonly readers?: ReaderCounts | undefined;
  /** The expected duration; absent if no forecast is possible. */
  readonly forecast?: Forecast | undefined;
}

export function renderReview(fields: Fields, review: Review, session: ConsoleSession): Html {
  const { audience, audienceSize, isTest, payload, startAt, shown, readers } = review;
  const size = readers?.reached ?? audienceSize;
  const recipients = (format: (size: AudienceSize) => string): string =>
    figure('review.recipients', size.count, '', () => format(size));
  const send = (url: string, button: string, more: Fields = {}): Html =>
    postForm(session, url, button, { style: 'primary', fields: { ...fields, ...more } });
  const step = (name: string, button: string): Html =>
    postForm(session, '/console/send', button, { fields: { ...fields, step: name } });
  const buttons = isTest
    ? html`${
        size.count > 0 &&
        send(
          '/console/send/test-group',
          `Send to ${recipients(nameAudienceSize)} of the test group`,
          // this key prevents a second test if the form is sent twice; the broadcast itself uses the form's key
          { testKey: randomUUID() },
        )
      }`
    : html`${send(
        '/console/send/confirm',
        `${startAt === undefined && !fields['localTime'] ? 'Send to' : 'Schedule for'} ${recipients(nameAudienceSize)}`,
      )}
      ${size.kind !== 'exact' && step('count', 'Count exactly')} ${step('test', 'Send to the test group…')}`;
  return html`<div class="columns">
    ${card(
      'To whom, and when',
      html`${facts([
          ['Recipients', html`<strong>${recipients(formatAudienceSize)}</strong>`],
          isTest
            ? ['Test group', `subscriptions with the tag ${fields['testTag']}`]
            : ['Audience', describeAudience(audience, fields)],
          ['Start', isTest ? 'now' : describeStart(review, fields)],
          ...(isTest ? [] : [...describeTimes(fields), ...describeForecast(review, size)]),
        ])}
        ${readers && renderReaderCounts(readers)} ${renderHint(review, size, fields)}
        <div class="buttons">${buttons} ${step('edit', 'Back to editing')}</div>`,
    )}
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
}

/** Explains how many readers get the message. @param size the number of these readers */
function renderHint({ audienceSize, isTest }: Review, size: AudienceSize, { testTag }: Fields): Html | false {
  const nobody = 'Nobody would get this message.';
  if (isTest)
    return (
      size.count === 0 &&
      notice(
        'warn',
        audienceSize.count === 0 ? `No subscription has the tag ${testTag}.` : nobody,
        html`<p>
          Add it to your own with <code>deskbell subscriptions tag</code>, or choose another tag. Ids are on
          the page <a href="/console/subscriptions">Subscriptions</a>.
        </p>`,
      )
    );
  if (size.kind === 'exact') return size.count === 0 && notice('warn', nobody);
  return html`<p class="quiet small">
    ${
      size.kind === 'most'
        ? 'Some of them may not be stored'
        : 'The number comes from a sample of the subscriptions'
    };
    the page of the broadcast has the exact one. To count them exactly here may take some seconds.
  </p>`;
}

const describeAudience = (audience: ComposedAudience, { ids }: Fields): string | Html =>
  typeof audience === 'object' && 'ids' in audience ? `ids ${ids}` : untrusted(formatAskedAudience(audience));

/** Says when the broadcast starts. If readers get it at a local time, says when the first reader gets it. */
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

/** The label and the typed value of each option whose effect differs between readers. */
const describeTimes = (fields: Fields): readonly (readonly [string, string])[] =>
  (['channel', 'skipInactive', 'localTime', 'quietHours', 'timeZone'] as const)
    .filter((name) => fields[name])
    .map((name) => [deliveryOptions[name].field.label, fields[name]!]);
