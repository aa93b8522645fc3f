// How a broadcast is called on a page: by its title, else by its message, else by its number.
import { html, type Html } from '../../http/description/html.ts';
import { readPayloadTexts } from '../../protocol/message/read-payload.ts';
import type { Broadcast } from '../../store/broadcasts.ts';
import { prose } from './components.ts';

const maxCharacters = 80;

export function titleOf({ id, payload }: Pick<Broadcast, 'id' | 'payload'>): Html {
  const { title, message } = readPayloadTexts(payload);
  const text = title.trim() || message.trim();
  if (text === '') return html`Broadcast ${id}`;
  return prose(text.length > maxCharacters ? `${firstCharacters(text)}…` : text);
}

/** Whole ones: an emoji may be made of several. */
function firstCharacters(text: string): string {
  const end = [...new Intl.Segmenter().segment(text)].find(
    ({ index, segment }) => index + segment.length >= maxCharacters,
  );
  return text.slice(0, end?.index);
}
