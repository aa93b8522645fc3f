// HTML from template literals. Values are escaped, unless they are HTML that this module has made.

const made = Symbol('HTML made here');

export interface Html {
  readonly [made]: string;
}

/** `false` and `undefined` render as nothing, so templates can use `&&`. */
type Part = string | Html | readonly Part[] | false | undefined;

export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { [made]: String.raw({ raw: texts }, ...parts.map(toText)) };
}

export const htmlText = ({ [made]: text }: Html): string => text;

function toText(part: Part): string {
  if (part === false || part === undefined) return '';
  if (Array.isArray(part)) return part.map(toText).join('');
  return typeof part === 'object' ? htmlText(part as Html) : escapeHtml(String(part));
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => entities[character]!);
