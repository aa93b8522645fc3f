// The validator of the public service's schemas, and the formats that they name.
import { createValidatorCompiler } from '../http/validation.ts';

/** Pattern of text without lone surrogates (UTF-8 has none: RFC 3629 §3). */
export const wellFormed = String.raw`^\P{Cs}*$`;

export const compileValidator = createValidatorCompiler({
  text: {
    fits: (value: string) => value.isWellFormed(),
    words: 'a string that is not empty, of well-formed Unicode (no lone U+D800 to U+DFFF)',
  },
  // its pattern says it all
  'receipt-token': { fits: () => true, words: 'the member receipt of the payload' },
});
