// Promises of docs/service.md.
import type { DocumentedPromise } from '../promise.ts';

export const servicePage: readonly DocumentedPromise[] = [
  {
    claim:
      'The service is whole in an application, whatever that has told its router of slashes, letters and semicolons',
    test: {
      file: 'test/service/embedding.test.ts',
      title: 'is whole whatever the application has told its router',
    },
    changes: {
      'src/http/spellings.ts': {
        'a second spelling of a path is refused as a duplicate': [
          "if ((error as { readonly code?: unknown }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error;",
          'throw error;',
        ],
      },
      'src/http/last-segment.ts': {
        'a slash at the end is part of a parameter': [
          ".flatMap((end) => [end, end.replace(/\\/+$/, '')])",
          '',
        ],
      },
    },
  },
];
