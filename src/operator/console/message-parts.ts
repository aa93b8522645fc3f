// What lists and pages of broadcasts and of schedules have in common: the texts of a message, the options of its delivery, and what came of it.
import { formatCount } from '../../errors/format-count.ts';
import { nonZeroCounts } from '../../delivery/broadcast/format-broadcast.ts';
import { html, type Html } from '../../http/description/html.ts';
import type { Message } from '../../protocol/message/message.ts';
import type { Broadcast } from '../../store/broadcasts.ts';
import { deliveryOptions, pickDeliveryOptions, type DeliveryOptions } from '../../store/delivery-options.ts';
import { prose, untrusted } from './components.ts';
import { formatSpan } from './duration.ts';

export const renderTexts = ({ title, message }: Pick<Message, 'title' | 'message'>): Html =>
  html`<div>
    <h3>${prose(title)}</h3>
    <p>${prose(message)}</p>
  </div>`;

/** Those that are given; what is not asked for is not said. */
export const optionFacts = (options: DeliveryOptions): readonly (readonly [string, string | Html])[] =>
  Object.entries(pickDeliveryOptions(options))
    .filter(([, value]) => value !== false)
    .map(([name, value]) => {
      if (name === 'ttlSeconds') return ['TTL', formatSpan(Number(value), 4)];
      const { label } = deliveryOptions[name as keyof DeliveryOptions].field;
      return [label, value === true ? 'yes' : untrusted(String(value))];
    });

/** `1,200 accepted, 3 gone` */
export const outcomesOf = (broadcast: Broadcast): Html =>
  html`<span class="quiet small number"
    >${nonZeroCounts(broadcast).map(
      ([name, count], index) => `${index > 0 ? ', ' : ''}${formatCount(count)} ${name}`,
    )}</span
  >`;
