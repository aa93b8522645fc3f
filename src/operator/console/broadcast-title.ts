// How a broadcast or a schedule is called on a page: by the title of its message, else by its text, else by its number.
import { html, type Html } from '../../http/description/html.ts';
import type { Message } from '../../protocol/message/message.ts';
import { readPayloadTexts } from '../../protocol/message/read-payload.ts';
import type { Broadcast } from '../../store/broadcasts.ts';
import type { Schedule } from '../../store/schedules.ts';
import { prose } from './components.ts';

const maxCharacters = 80;

export const titleOf = ({ id, payload }: Pick<Broadcast, 'id' | 'payload'>): Html =>
  nameBy(readPayloadTexts(payload), `Broadcast ${id}`);

export const scheduleTitle = ({ id, message }: Pick<Schedule, 'id' | 'message'>): Html =>
  nameBy(message, `Schedule ${id}`);

function nameBy({ title, message }: Pick<Message, 'title' | 'message'>, otherwise: string): Html {
  const text = title.trim() || message.trim();
  if (text === '') return html`${otherwise}`;
  return prose(text.length > maxCharacters ? `${firstCharacters(text)}…` : text);
}

/** Whole ones: an emoji may be made of several. */
function firstCharacters(text: string): string {
  const end = [...new Intl.Segmenter().segment(text)].find(
    ({ index, segment }) => index + segment.length >= maxCharacters,
  );
  return text.slice(0, end?.index);
}
