// Makes text printable on a terminal: line ends and the styles that were made here pass, every other control character is
// a stranger's and is escaped.
import { styleText } from 'node:util';

import { escapeControls } from '../../errors/untrusted-text.ts';

export type Style = Parameters<typeof styleText>[0];

export interface Printer {
  /** `text` in a style if the stream is a terminal with styles. */
  style(style: Style, text: string): string;
  toPrintable(text: string): string;
}

const escapeCharacter = '\u001b';
/** Line ends, and sequences of ECMA-48 §8.3.117 as `styleText` makes them. */
const candidates = new RegExp(`(\n|${escapeCharacter}\\[\\d+m)`);

export function createPrinter(stream: NodeJS.WritableStream): Printer {
  const own = new Set(['\n']);
  return {
    style(style, text) {
      const styled = styleText(style, escapeControls(text), { stream });
      for (const part of styled.split(candidates)) if (part.startsWith(escapeCharacter)) own.add(part);
      return styled;
    },
    toPrintable: (text) =>
      text
        .split(candidates)
        .map((part) => (own.has(part) ? part : escapeControls(part)))
        .join(''),
  };
}
