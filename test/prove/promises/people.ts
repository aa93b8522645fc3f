// Promises of docs/people.md.
import type { DocumentedPromise } from '../promise.ts';

const sessions = 'test/service/application-session.test.ts';

export const people: readonly DocumentedPromise[] = [
  {
    claim: 'In Express onSubscribe receives the request of Express, with its session',
    test: { file: sessions, title: "hooks receive the application's own request, with its session" },
    changes: {
      'src/service/create-middleware.ts': {
        'it receives another': ['({ raw }) => raw as Request', '(request) => request as unknown as Request'],
      },
    },
  },
  {
    claim:
      'A subscription is in an audience when it meets every part of the expression: the user and each kind of tags',
    test: { file: 'test/store/people-suite.ts', title: 'expressions of user and tags' },
    changes: {
      'src/store/sqlite/audience-filter.ts': {
        'tags of `all` are ignored beside a user': [
          "{ ...none, source: 'user', throughId, user }",
          "{ ...none, source: 'user', throughId, user, all: [] }",
        ],
        'tags of `any` are ignored beside a user': [
          "{ ...none, source: 'user', throughId, user }",
          "{ ...none, source: 'user', throughId, user, any: [] }",
        ],
        'tags of `none` are ignored beside a user': [
          'const none = expression.tags?.none ?? [];',
          'const none = (user === null ? expression.tags?.none : undefined) ?? [];',
        ],
      },
      'src/store/postgres/audience-filter.ts': {
        'tags of `all` are ignored beside a user': [
          '(all.length === 0 ?',
          '(user !== undefined || all.length === 0 ?',
        ],
        'tags of `any` are ignored beside a user': [
          '(any.length === 0 ?',
          '(user !== undefined || any.length === 0 ?',
        ],
        'tags of `none` are ignored beside a user': [
          '(none.length === 0',
          '(user !== undefined || none.length === 0',
        ],
      },
    },
  },
];
