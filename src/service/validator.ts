import type { Formats } from '../errors/describe-schema.ts';
import { createValidatorCompiler } from '../http/validation.ts';

export const serviceFormats: Formats = {
  // no lone surrogates, which UTF-8 cannot represent (RFC 3629 §3)
  text: {
    fits: (value: string) => value.isWellFormed(),
    words: 'a string that is not empty, of well-formed Unicode (no lone U+D800 to U+DFFF)',
  },
  'receipt-token': { fits: () => true, words: 'the member receipt of the payload' },
};

export const compileValidator = createValidatorCompiler(serviceFormats);
