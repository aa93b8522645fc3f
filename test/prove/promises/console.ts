// Promises of docs/console.md.
import type { DocumentedPromise } from '../promise.ts';

const livePages = 'test/operator/live-pages.test.ts';
const broadcastPages = 'test/operator/console-broadcast.test.ts';
const consolePages = 'test/operator/console-pages.test.ts';

export const consolePage: readonly DocumentedPromise[] = [
  {
    claim:
      'The live part of a page has the buttons and the form token of who looks at it, and of nobody else',
    test: { file: livePages, title: 'who looks at a live page first hands nothing' },
    changes: {
      'src/operator/console/live.ts': {
        'it is made with the session of who looks at it first': [
          'readStates(() => read(address), stopped)',
          'readStates(async () => { const { shared, own } = await read(address); return { shared: { ...shared, ...own?.(sessionOf(request)) } }; }, stopped)',
        ],
      },
    },
  },
  {
    claim:
      'Recipients by ids are exact, unless more than 500 are looked up while the form is filled in, or 2,500 in the review',
    test: { file: consolePages, title: 'ids are looked up: 500 while they are typed' },
    changes: {
      'src/delivery/broadcast/estimate-audience.ts': {
        'the review looks up no more than the form': [
          'ids.size * lookupCost > maxCandidates ?',
          'ids.size * lookupCost > Math.min(maxCandidates, defaultMaxCandidates) ?',
        ],
        'fewer are looked up': ['const lookupCost = 40;', 'const lookupCost = 41;'],
        'more are looked up': ['const lookupCost = 40;', 'const lookupCost = 39;'],
      },
      'src/operator/console/pages/send.ts': {
        'they cannot be counted exactly': [
          'isCounted ? Infinity : reviewCandidates',
          'isCounted ? reviewCandidates : reviewCandidates',
        ],
      },
    },
  },
  {
    claim: 'Of more than 10,000 subscriptions the review looks at the oldest, unless all are to be counted',
    test: {
      file: 'test/operator/console-languages.test.ts',
      title: 'the review looks at the 10,000 oldest subscriptions',
    },
    changes: {
      'src/operator/console/pages/send.ts': {
        'those of more are never counted': [
          'isTest, isCounted ? Infinity : reviewRows, store)',
          'isTest, isCounted ? reviewRows : reviewRows, store)',
        ],
        'more are looked at': ['const reviewRows = 10_000;', 'const reviewRows = 10_001;'],
      },
      'src/operator/console/reader-counts.ts': { 'it does not say so': ['hasMore &&', '!hasMore &&'] },
    },
  },
  {
    claim: 'Send to this browser sends the text of the language or of the person that the preview is for',
    test: {
      file: 'test/operator/console-languages.test.ts',
      title: 'this browser gets the text of the language',
    },
    changes: {
      'src/operator/console/pages/send.ts': {
        'it sends the message’s own': [
          '          reader: await findShownReader(fields, store.readers),\n',
          '',
        ],
      },
    },
  },
  {
    claim: 'The subscriptions with one of several tags are an estimate where together more are looked at',
    test: { file: 'test/delivery/estimate-audience.test.ts', title: 'an audience is counted where few' },
    changes: {
      'src/delivery/broadcast/estimate-audience.ts': {
        'the most frequent tag alone counts': [
          'return any.reduce((sum, tag) => sum + having(tag), 0);',
          'return Math.max(...any.map(having));',
        ],
      },
    },
  },
  {
    claim: 'The page with the older broadcasts to a person is still that person’s',
    test: { file: 'test/operator/outcomes.test.ts', title: 'the API answers why somebody got nothing' },
    changes: {
      'src/operator/console/pages/people.ts': {
        'it is nobody’s': ['query, store, { user }),', 'query, store),'],
      },
    },
  },
  {
    claim: 'A duplicate has up to 1,000 ids; with more, and for given subscriptions, it asks for an audience',
    test: { file: broadcastPages, title: 'a broadcast is duplicated with its message' },
    changes: {
      'src/operator/console/duplicate.ts': {
        'it has more': ['const maxIds = 1000;', 'const maxIds = 1001;'],
        'it has fewer': ['const maxIds = 1000;', 'const maxIds = 999;'],
        'the form does not ask': ['audienceFields === undefined', '!audience'],
      },
    },
  },
  {
    claim: 'State and buttons of a page that is opened after a change are those after it',
    test: { file: livePages, title: 'who comes after a change never gets' },
    changes: {
      'src/operator/console/live.ts': {
        'it begins with what others have read already': [
          `yield* newParts(first, sent, session);
  for await (const state of states) {
    if (state.begunAt > first.begunAt) yield`,
          `for await (const state of states) {
    yield`,
        ],
      },
    },
  },
  {
    claim: 'Where the figures of a page cannot be read, it is told so',
    test: { file: livePages, title: 'a live page is told of when its figures are' },
    changes: {
      'src/operator/console/live.ts': {
        'nothing is said then': ["yield { event: 'unread', data: {} };", ''],
      },
    },
  },
  {
    claim: 'A page that was left before it came holds no place among the 200 that are live at once',
    test: { file: livePages, title: 'a load that is given up while the page is made holds no place' },
    changes: {
      'src/operator/console/live.ts': {
        'a response that was closed before is counted for ever': ['if (response.destroyed) return;', ''],
      },
    },
  },
  {
    claim:
      'Times in the form are in the time zone of your browser; of one that comes twice, the first is meant',
    test: { file: consolePages, title: 'a start is a time in the zone of the form' },
    changes: {
      'src/operator/console/local-time-input.ts': {
        'they are in UTC': ["fields[zoneName] || 'UTC'", "(fields[zoneName] && 'UTC') || 'UTC'"],
      },
      'src/audience/zone-time.ts': {
        'the second is meant': ['one - other', 'other - one'],
      },
      'src/operator/console/form-times.ts': {
        'a past start is sent at once': ['>= nowMs - maxLateMs', '>= 0'],
      },
    },
  },
  {
    claim: 'What is too large for a push message is named beside its field while it is typed',
    test: { file: consolePages, title: 'while a message is typed, the server says' },
    changes: {
      'src/operator/console/draft.ts': {
        'nothing is said of a field': ['if (excess <= 0) return', 'if (excess <= 9999) return'],
      },
    },
  },
  {
    claim:
      'What is wrong is said beside each field, all at once, and in a list above a form that is refused, which leads to the fields',
    test: { file: consolePages, title: 'every field that is wrong is marked with its own sentence' },
    changes: {
      'src/operator/console/draft.ts': {
        'options are not looked at one by one': [
          'Object.assign(findSingleFaults(fields), ...parts',
          'Object.assign({}, ...parts',
        ],
      },
      'src/operator/console/form-fields.ts': {
        'the list leads nowhere': ['href="#${fieldId(name)}"', 'href="#"'],
      },
    },
  },
  {
    claim: 'A notification whose title and text are both blank is refused by the form',
    test: { file: consolePages, title: 'a notification without title and text is refused at each step' },
    changes: {
      'src/protocol/message/assert-not-blank.ts': {
        'spaces are a text': ['`.trim() ===', '` ==='],
      },
      'src/operator/console/preview.ts': {
        'the preview shows a title of its own': [
          'data-shows="title" dir="auto">${title}<',
          'data-shows="title" dir="auto">${title || \'Title\'}<',
        ],
      },
    },
  },
  {
    claim: 'What was not accepted, the attempts and what came of one are live while the broadcast runs',
    test: { file: livePages, title: 'attempts, their reasons and what came of one are live' },
    changes: {
      'src/operator/console/pages/broadcast.ts': {
        'what is chosen on the page is forgotten': [
          'readParts(broadcast, address.query)',
          'readParts(broadcast, {})',
        ],
      },
      'src/operator/console/pages/broadcast-attempts.ts': {
        'the reasons stay as the page was loaded': ["live('answers', answers)", 'answers'],
      },
    },
  },
  {
    claim: 'An estimate of recipients says that it is one',
    test: {
      file: 'test/delivery/estimate-audience.test.ts',
      title: 'an audience is counted where few are looked at',
    },
    changes: {
      'src/delivery/broadcast/estimate-audience.ts': {
        'it looks exact': ["size.kind === 'exact' ?", "size.kind !== 'below' ?"],
        'tags are not looked at': ['all.every((tag) => tags.includes(tag)) &&', ''],
      },
    },
  },
  {
    claim: 'The test group alone gets a message that is sent to it, after a question with its number',
    test: { file: consolePages, title: 'a message goes to the test group first' },
    changes: {
      'src/operator/console/pages/send.ts': {
        'the audience gets it': [
          'createBroadcast(toTestGroup(fields),',
          'createBroadcast(toAudience(fields),',
        ],
      },
    },
  },
  {
    claim: 'A form must have the CSRF token of its session, which is compared in constant time',
    test: {
      file: 'test/operator/console-access.test.ts',
      title: 'what changes something needs the token of the session',
    },
    changes: {
      'src/operator/console/csrf.ts': {
        'the time tells how many bytes are right': [
          "isSameSecret(textField(body, 'csrf'), csrfToken)",
          "textField(body, 'csrf') === csrfToken",
        ],
      },
      'src/operator/console/require-session.ts': {
        'any token will do': [
          'if (isOwnForm(request.body, consoleSession)) return done();',
          'return done();',
        ],
      },
    },
  },
  {
    claim: 'What was done is said on the page that follows, and no link of somebody else says it',
    test: { file: broadcastPages, title: 'what reaches people or ends a broadcast is asked' },
    changes: {
      'src/operator/console/done.ts': {
        'any address says it': [
          'if (!isSameSecret(signature, sign(fact, session))) return false;',
          "if (isSameSecret(fact, '')) return false;",
        ],
      },
      'src/operator/console/pages/broadcast.ts': {
        'one click resumes it': ['consequence === undefined', "name !== 'cancel'"],
      },
    },
  },
  {
    claim: 'Who may only look is told so by each page that is there for a change, and sees no button for one',
    test: {
      file: 'test/operator/console-access.test.ts',
      title: 'a read-only operator sees everything and changes nothing',
    },
    changes: {
      'src/operator/console/page.ts': {
        'the form is shown': ['isForChange && !session.mayChange ? readOnly : content', 'content'],
        'buttons are shown': ['html`${mayChange && html`', 'html`${mayChange !== undefined && html`'],
      },
    },
  },
  {
    claim: 'No page leads who may only look to one that is there for a change',
    test: { file: 'test/operator/console-pages.test.ts', title: 'no page leads who may only look' },
    changes: {
      'src/operator/console/alarms.ts': {
        'alarms lead to where they are acknowledged': ['mayChange &&', 'true &&'],
      },
      'src/operator/console/pages/channels.ts': {
        'channels lead to where they are changed': ['    session.mayChange\n', '    true\n'],
      },
    },
  },
  {
    claim: 'A copy of a broadcast replaces the notifications that the broadcast replaces, or none',
    test: { file: broadcastPages, title: 'a broadcast is duplicated with its message' },
    changes: {
      'src/operator/console/duplicate.ts': {
        'one that replaces none replaces the one before it': [
          "replace: tag === null ? 'none' : tag",
          'replace: (tag ?? undefined)',
        ],
      },
    },
  },
  {
    claim: 'A copy of a broadcast whose audience the form cannot name goes to nobody by itself',
    test: { file: broadcastPages, title: 'a broadcast is duplicated with its message' },
    changes: {
      'src/operator/console/duplicate.ts': {
        'it goes to everybody': ["{ audience: 'ids', ids: '' }", "{ audience: 'all' }"],
      },
    },
  },
];
