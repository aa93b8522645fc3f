// Texts of any length that programs have been slow at: as values of members, fields, headers and queries, and as whole
// bodies. Each is given in bytes of what travels.

/** Makes a text of about so many bytes, never more. */
export type Shape = (bytes: number) => string;

const repeat =
  (unit: string, start = '', end = ''): Shape =>
  (bytes) => {
    const room = bytes - Buffer.byteLength(start + end);
    return start + unit.repeat(Math.max(0, Math.floor(room / Buffer.byteLength(unit)))) + end;
  };

/** Names of their own: `unit` with each a number. */
const numbered =
  (start: string, nameOf: (index: number) => string, end: string): Shape =>
  (bytes) => {
    const parts: string[] = [];
    let left = bytes - start.length - end.length;
    for (let index = 0; (left -= nameOf(index).length) >= 0; index += 1) parts.push(nameOf(index));
    return start + parts.join('') + end;
  };

/** Classes 230 and 220: they have to be put in order one by one. */
const marks = '\u0300\u0316';
const escapedMarks = encodeURIComponent(marks);

/** JSON values. */
export const jsonValues: Readonly<Record<string, Shape>> = {
  letters: repeat('a', '"', '"'),
  marks: repeat(marks, '"a', '"'),
  addresses: repeat('http://a:', '"', '"'),
  numbers: repeat('1,', '[', '1]'),
  strings: repeat('"",', '[', '""]'),
  objects: repeat('{},', '[', '{}]'),
  deep: (bytes) => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
  'many names': numbered('{', (index) => `"${index}":0,`, '"z":0}'),
};

/** Whole bodies of JSON, beside those values. */
export const jsonBodies: Readonly<Record<string, Shape>> = {
  ...jsonValues,
  'a repeated name': repeat('"a":0,', '{', '"a":0}'),
  'a long name': repeat('a', '{"', '":0}'),
  'a name of marks': repeat(marks, '{"', '":0}'),
  'deep objects': (bytes) => '{"a":'.repeat(bytes / 6) + '0' + '}'.repeat(bytes / 6),
  escapes: repeat(String.raw`\u0300`, '{"', '":0}'),
  'no end': repeat('{"a":['),
  'lone surrogates': repeat(String.raw`\ud800`, '{"a":"', '"}'),
};

/** Values of a field of a form or a query. */
export const fieldValues: Readonly<Record<string, Shape>> = {
  letters: repeat('a'),
  marks: repeat(escapedMarks, 'a'),
  addresses: repeat('http://a:'),
  numbers: repeat('1,', '', '1'),
  separators: repeat(', '.replace(' ', '%20')),
  quotation: repeat('%22'),
  brackets: repeat('%5B'),
};

/** Whole forms and queries. */
export const forms: Readonly<Record<string, Shape>> = {
  'a repeated name': repeat('a&'),
  'a repeated name with values': repeat('a=1&'),
  'many names': numbered('', (index) => `${index}=&`, ''),
  'a long name': repeat('a'),
  'percent escapes': repeat('%61'),
  'percent signs': repeat('%'),
  separators: repeat('&'),
  equals: repeat('='),
};

/** Values of a header field. */
export const headerValues: Readonly<Record<string, Shape>> = {
  letters: repeat('a'),
  pairs: repeat('a=b; ', '', 'a'),
  spaces: repeat(' ', 'Bearer ', '='),
  'a token': repeat('a', 'Bearer ey.', '.a'),
  separators: repeat(',', 'a', 'a'),
  parameters: repeat('; charset=', 'application/json'),
  quotation: repeat('"'),
  brackets: repeat('[', '{"endpoint":'),
};

/** The last part of a path. */
export const pathEnds: Readonly<Record<string, Shape>> = {
  letters: repeat('a'),
  segments: repeat('a/'),
  slashes: repeat('/'),
  dots: repeat('.a'),
  'percent escapes': repeat('%61'),
  marks: repeat(escapedMarks, 'a'),
  digits: repeat('1'),
};
