// What is known of a reader, as the pages of a person and of a subscription show it.
import type { Channel, Choices } from '../../audience/channels.ts';
import type { Person } from '../../audience/person.ts';
import { html, type Html } from '../../http/description/html.ts';
import { facts, onOff, prose, table, untrusted } from './components.ts';
import { changes, postForm } from './page.ts';
import type { ConsoleSession } from './sessions.ts';
import { lookUp } from '../../errors/look-up.ts';

const ofBrowsers = 'that of each browser';

export const renderPerson = ({ data, language = ofBrowsers, timeZone = ofBrowsers }: Person): Html =>
  facts([
    ['Language', language],
    ['Time zone', timeZone],
    ...Object.entries(data).map(
      ([name, value]) => [`Data: ${name}`, typeof value === 'number' ? String(value) : prose(value)] as const,
    ),
  ]);

/** Each channel with what holds for the person, and the buttons that change it. */
export const renderChoices = (
  { user, channels: made }: Person,
  channels: readonly Channel[],
  session: ConsoleSession,
): Html =>
  table(
    'Channels',
    { Channel: 'words', State: 'short', Because: 'words', Change: 'short' },
    channels.map(({ name, title, isOnByDefault }) => {
      const isChosen = Object.hasOwn(made, name);
      const isOn = isChosen ? lookUp(made, name)! : isOnByDefault;
      const button = (text: string, choice: string): Html =>
        postForm(session, '/console/people/choose', text, {
          style: 'small-button',
          fields: { user, channel: name, choice },
        });
      return [
        html`${prose(title)} <code class="quiet">${untrusted(name)}</code>`,
        onOff(isOn),
        isChosen ? 'chosen' : 'by default; a subscription may have a choice of its own',
        changes(
          session,
          html`${isOn ? button('Turn off', 'off') : button('Turn on', 'on')}
          ${isChosen && button('Withdraw', 'default')}`,
        ),
      ];
    }),
    'There are no channels yet.',
  );

/** Of a subscription. */
export const renderOwnChoices = (choices: Choices): Html | string => {
  const made = Object.entries(choices);
  return made.length === 0
    ? 'none'
    : html`${made.map(([name, isOn]) => html`<code>${untrusted(name)}</code> ${onOff(isOn)} `)}`;
};
