// Shows the stored data of a person, and the channels of a person or a subscription.
import type { Channel, Choices } from '../../audience/channels.ts';
import type { Person } from '../../audience/person.ts';
import { lookUp } from '../../errors/check-options.ts';
import { html, type Html } from '../../http/description/html.ts';
import { facts, onOff, prose, table, untrusted, wide } from './components.ts';
import { figure } from './figures.ts';
import { changes, postForm } from './page.ts';
import type { ConsoleSession } from './sessions.ts';

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
