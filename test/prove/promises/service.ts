// Promises of docs/service.md.
import type { DocumentedPromise } from '../promise.ts';

const registrations = 'test/store/registration-suite.ts';
const right = 'src/store/registration-right.ts';
const functions = 'src/store/postgres/functions/subscriptions.sql';

const registration = 'src/service/push/registration.ts';
const ask = 'const assign = await askApplication(registration, request, settings);';

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
      'src/http/wildcard-param.ts': {
        'a slash at the end is part of a parameter': [
          ".flatMap((end) => [end, end.replace(/\\/+$/, '')])",
          '',
        ],
      },
    },
  },
  {
    claim: 'Other keys for an endpoint that is stored are refused without a proof, and change nothing',
    test: { file: registrations, title: 'other keys for a known endpoint' },
    changes: {
      [right]: {
        'knowing the endpoint is enough': ['if (!hasRight(row, registration)) throw endpointInUse();', ''],
        'the `auth` of any subscription is enough': ['isOfRow ? former.auth : undefined', 'former?.auth'],
      },
      [functions]: {
        'knowing the endpoint is enough': ["not coalesce(given.options ? 'proof', false)", 'true'],
      },
    },
  },
  {
    claim: 'Other keys for an endpoint are taken with the stored `auth`, or from the user of the row',
    test: { file: registrations, title: 'other keys are taken with' },
    changes: {
      [right]: {
        'the stored `auth` is not enough': ['(auth !== undefined && isSameSecret(row.auth, auth)) ||', ''],
        'its user is not enough': ['(user !== undefined && row.user === user)', 'false'],
      },
      [functions]: {
        'its user is not enough': ["or coalesce(s.user_name = given.options #>> '{proof,user}', false)", ''],
      },
    },
  },
  {
    claim: 'What onSubscribe refuses leaves no row, changes none, and is not on the console',
    test: { file: 'test/service/registrations.test.ts', title: 'leaves no row and changes none' },
    changes: {
      [registration]: {
        'the row is stored before': [ask, `await store.subscriptions.register(registration); ${ask}`],
        'its line is written before': [ask, `report(registration.subscription, keys); ${ask}`],
      },
    },
  },
  {
    claim: 'A kill -9 loses no line of a registration that was acknowledged',
    test: { file: 'test/service/registrations.test.ts', title: 'the console line is written out' },
    changes: {
      [registration]: {
        'lines wait for others after the 200': ['await writeOut();', ''],
        'a line is written before its row is stored': [
          ask,
          `report(registration.subscription, keys); await writeOut(); ${ask}`,
        ],
      },
    },
  },
];
