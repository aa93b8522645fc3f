// The public halves of the VAPID key pairs, how many subscriptions each has, and the commands that change them: private
// keys stay where the command line is.
import type { FastifyInstance } from 'fastify';
import { formatCount } from '../../../errors/format-count.ts';
import { html } from '../../../http/description/html.ts';
import type { VapidKeyState } from '../../../store/vapid-keys.ts';
import type { OperatorContext } from '../../context.ts';
import { badge, card, table, type Variant } from '../components.ts';
import { sendPage } from '../page.ts';

const states: Readonly<Record<VapidKeyState | 'foreign', readonly [tone: Variant, meaning: string]>> = {
  next: ['active', 'Senders can sign with it; browsers are not offered it yet.'],
  current: ['good', 'Browsers subscribe with it.'],
  previous: ['plain', 'Signs for the subscriptions that were made with it.'],
  retired: ['plain', 'Its private half is removed.'],
  foreign: ['warn', 'Subscriptions name it, and it was never one of ours: nothing can be sent to them.'],
};

export function addKeysPage(app: FastifyInstance, { store }: OperatorContext): void {
  app.get('/keys', async (_request, reply) => {
    const [keys, counts] = await Promise.all([store.vapidKeys.list(), store.vapidKeys.countSubscriptions()]);
    const rows = keys.map(({ publicKey, state: known }) => {
      const [tone, meaning] = states[known ?? 'foreign'];
      return [
        badge(known ?? 'foreign', tone),
        html`<code>${publicKey}</code>`,
        formatCount(counts.get(publicKey) ?? 0),
        meaning,
      ];
    });
    return sendPage(reply, {
      title: 'Keys',
      lead: html`<p class="quiet">
        A subscription belongs to the VAPID key that its browser subscribed with; only that key pair can send
        to it.
      </p>`,
      content: html`
        ${table(
          'VAPID keys',
          { State: 'short', 'Public key': 'words', Subscriptions: 'number', Meaning: 'words' },
          rows,
          'There is no key yet.',
        )}
        ${card(
          'Changing keys',
          html`<p>
              Private keys are on the server alone, so these are commands there, while everything runs:
            </p>
            <pre>
deskbell keys rotate                 # makes a new pair current; nobody is lost
deskbell keys list                   # what each pair still signs for
deskbell keys retire PUBLIC-KEY      # removes a private half once nobody needs it</pre>`,
        )}
      `,
    });
  });
}
