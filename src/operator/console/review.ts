// What is shown before a message is sent: the message, to how many it goes, and when.
import { randomUUID } from 'node:crypto';
import {
  formatAudienceSize,
  nameAudienceSize,
  type AudienceSize,
} from '../../delivery/broadcast/estimate-audience.ts';
import { formatCount } from '../../delivery/broadcast/format-broadcast.ts';
import { html, type Html } from '../../http/description/html.ts';
import { maxPlaintextBytes } from '../../protocol/message-encryption.ts';
import { card, facts, notice } from './components.ts';
import type { Fields } from './forms.ts';
import { describeLocalTime } from './local-time-input.ts';
import { postForm } from './page.ts';
import { renderPreviews } from './preview.ts';
import type { ConsoleSession } from './sessions.ts';

interface Review {
  readonly payload: Uint8Array;
  readonly startAt: Date | undefined;
  readonly nowMs: number;
}

export function renderReview(
  fields: Fields,
  review: Review,
  size: AudienceSize,
  session: ConsoleSession,
): Html {
  const { startAt, nowMs } = review;
  const isExact = size.kind === 'exact';
  const steps = (step: string, button: string) =>
    postForm(session, '/console/send', button, { fields: { ...fields, step } });
  return renderPage(
    fields,
    review,
    html`${facts([
        ['Recipients', html`<strong>${formatAudienceSize(size)}</strong>`],
        ['Audience', describeAudience(fields)],
        ['Start', startAt === undefined ? 'now' : describeLocalTime(startAt.getTime(), fields, nowMs)],
      ])}
      ${isExact && size.count === 0 && notice('warn', 'Nobody would get this message.')}
      ${
        !isExact &&
        html`<p class="quiet small">
          ${
            size.kind === 'most'
              ? 'Some of these ids may not be stored'
              : 'The number comes from a sample of the subscriptions'
          };
          the page of the broadcast has the exact one. To count them exactly here may take some seconds.
        </p>`
      }
      <div class="buttons">
        ${postForm(
          session,
          '/console/send/confirm',
          `${startAt === undefined ? 'Send to' : 'Schedule for'} ${nameAudienceSize(size)}`,
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
  size: AudienceSize,
  session: ConsoleSession,
): Html {
  const { testTag = '' } = fields;
  return renderPage(
    fields,
    review,
    html`${facts([
        ['Recipients', html`<strong>${formatAudienceSize(size)}</strong>`],
        ['Test group', `subscriptions with the tag ${testTag}`],
        ['Start', 'now'],
      ])}
      ${
        size.count === 0 &&
        notice(
          'warn',
          `No subscription has the tag ${testTag}.`,
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
            `Send to ${nameAudienceSize(size)} of the test group`,
            // sent twice by accident, it makes one broadcast; a key of its own leaves the form's for the audience
            { style: 'primary', fields: { ...fields, testKey: randomUUID() } },
          )
        }
        ${postForm(session, '/console/send', 'Back to editing', { fields: { ...fields, step: 'edit' } })}
      </div>`,
  );
}

const renderPage = (fields: Fields, { payload }: Review, audience: Html): Html =>
  html`<div class="columns">
    ${card('To whom, and when', audience)}
    ${card(
      'What is sent',
      html`${renderPreviews(fields)}
        <details>
          <summary>
            Payload, ${formatCount(payload.length)} of ${formatCount(maxPlaintextBytes)} bytes
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
    default:
      return 'every subscription';
  }
}
