// Promises of docs/notifications.md.
import type { DocumentedPromise } from '../promise.ts';

const templates = 'test/protocol/message/template.test.ts';

export const notifications: readonly DocumentedPromise[] = [
  {
    claim:
      'A reader gets the text in the language, else in the nearest with fewer parts, else the message’s own',
    test: { file: 'test/protocol/message/choose-language.test.ts', title: 'a reader of' },
    changes: {
      'src/protocol/message/choose-language.ts': {
        'a region is not left out': ["Math.max(language.lastIndexOf('-'), 0)", '0'],
        'the language is not looked for as it is': [
          'let language = wanted',
          "let language = wanted?.split('-')[0]",
        ],
      },
    },
  },
  {
    claim: 'Each text must fit into a push message by itself, and the error names it',
    test: { file: 'test/protocol/message/texts.test.ts', title: 'the size of each language is checked' },
    changes: {
      'src/protocol/message/encode-payload.ts': {
        'only the message’s own text is measured': ['of measured) {', 'of measured.slice(0, 1)) {'],
      },
      'src/protocol/message/localize-message.ts': {
        'the error does not say the language': ['? `texts.${tag}.${member}` : member', '? member : member'],
      },
    },
  },
  {
    claim: 'A button turn-off-channel turns its channel off in the declarative form too',
    test: {
      file: 'test/client/service-worker.test.ts',
      title: 'the declarative form is read as the message that it is',
    },
    changes: {
      'src/client/worker/read-push.ts': {
        'the service worker does not read the channel': ["    channel: form['channel'],", ''],
      },
      'src/protocol/message/declarative-form.ts': {
        'the form does not have the channel': ['    channel,\n    web_push', '    web_push'],
      },
    },
  },
  {
    claim: 'With renotify the second copy of a message makes no sound, and another message with its tag does',
    test: {
      file: 'test/client/service-worker.test.ts',
      title: 'a message that alerts again alerts unless',
    },
    changes: {
      'src/client/worker/show.ts': {
        'another message is taken for a copy': [
          'messageOf(shown)?.id === id',
          'messageOf(shown)?.id !== undefined',
        ],
        'the copy alerts again': ['!(await isOnScreen(message))', 'true'],
      },
    },
  },
  {
    claim: 'Without placeholders all braces are text',
    test: { file: templates, title: 'braces are text' },
    changes: {
      'src/protocol/message/measure-message.ts': {
        'they are read as placeholders': [
          '= placeholders ? createTemplate',
          '= placeholders !== null ? createTemplate',
        ],
      },
    },
  },
  {
    claim: 'A value is shown as text whatever it is, and never read as a placeholder',
    test: { file: templates, title: 'a value is shown as text' },
    changes: {
      'src/protocol/message/reader-value.ts': {
        'controls and direction marks stay': [".toWellFormed().replaceAll(controls, '')", '.toWellFormed()'],
        'right-to-left letters are not isolated': ['rightToLeft.test(text) ?', 'text === controls.source ?'],
        'it is not escaped': ['return escapeJson(right', 'return String(right'],
      },
    },
  },
  {
    claim: 'A value in a URL changes neither scheme nor host, and does not leave its place in the path',
    test: { file: templates, title: 'in a URL' },
    changes: {
      'src/protocol/message/reader-value.ts': {
        'it is not percent-encoded': [
          '? undefined : encodeURIComponent(text)',
          '? undefined : encodeURI(text)',
        ],
        'it may be the folder above': [" || text === '..'", ''],
      },
      'src/protocol/message/placeholders.ts': {
        'a placeholder may stand in the host': [
          'if (!settledOrigin.test(before)) {',
          'if (before === undefined) {',
        ],
      },
    },
  },
  {
    claim: 'A message is refused before anything is sent where a value is missing that has no default',
    test: { file: 'test/operator/api.test.ts', title: 'each device gets the text for its reader' },
    changes: {
      'src/protocol/message/template.ts': {
        'nothing stands in its place': [
          'valueOf(slot) ?? slot.fallback ?? refuseMissing',
          "valueOf(slot) ?? slot.fallback ?? '' ?? refuseMissing",
        ],
      },
      'src/operator/send-message.ts': {
        'devices get it until it is refused for one': [
          'const encodeFor = encodeForReaders(message);',
          'if (rows.length > 1) return rows.map((row) => sender.send(row, message, options));\n  const encodeFor = encodeForReaders(message);',
        ],
      },
    },
  },
  {
    claim:
      'What a text leaves out it has from the message, and a button from the message’s button in its place',
    test: { file: 'test/protocol/message/texts.test.ts', title: 'each language has a payload of its own' },
    changes: {
      'src/protocol/message/localize-message.ts': {
        'a button has what it says alone': ['...own.actions?.[index],', ''],
        'it has nothing of the message': ['message: { ...own, ...given,', 'message: { ...given,'],
        'the notification does not say the language': [', lang: language }', ' }'],
      },
    },
  },
  {
    claim: 'A text is named by a tag of at most 35 characters',
    test: {
      file: 'test/protocol/message/texts.test.ts',
      title: 'fifty texts are not too many, and a tag may have 35',
    },
    changes: {
      'src/protocol/message/value-schema.ts': {
        'it may have fewer': ['value.length > maxLength)', 'value.length >= maxLength)'],
      },
    },
  },
  {
    claim:
      'Control characters and direction marks are removed from values, and letters from right to left are isolated',
    test: {
      file: 'test/protocol/message/template.test.ts',
      title: 'joiners stay, direction marks and controls go',
    },
    changes: {
      'src/protocol/message/reader-value.ts': {
        'a paragraph separator stays': ['\\u2028-\\u202E', '\\u2028\\u202A-\\u202E'],
        'only Hebrew and Arabic are isolated': ['\\u0590-\\u08FF', '\\u0590-\\u06FF'],
      },
    },
  },
  {
    claim: 'An error of a message names its member, and points to it with a JSON pointer',
    test: { file: 'test/protocol/message/texts.test.ts', title: 'an error points to the member' },
    changes: {
      'src/protocol/message/message-error.ts': {
        'it points to the message': ['...member.split(', "...''.split("],
      },
      'src/protocol/message/encode-payload.ts': {
        'of a payload that is too large it points to the title': ['sizes[0]!.member,', "'title',"],
      },
    },
  },
  {
    claim: 'A reader whose values do not fit into the message gets the defaults',
    test: { file: templates, title: 'where values do not fit, the defaults stand there' },
    changes: {
      'src/protocol/message/template.ts': {
        'the values stand there': [
          'const shorter = write((slot) => slot.fallback ?? valueOf(slot)',
          'const shorter = write((slot) => valueOf(slot) ?? slot.fallback',
        ],
      },
    },
  },
  {
    claim: 'A value that is empty counts as missing, without what is not shown',
    test: { file: templates, title: 'a value that is nothing to show counts as missing' },
    changes: {
      'src/protocol/message/reader-value.ts': {
        'it is shown': ["return text.trim() === '' ? undefined : text;", 'return text;'],
      },
    },
  },
  {
    claim: 'Broadcasts that ask for receipts give each row a token in the text that is for its reader',
    test: { file: 'test/delivery/receipts.test.ts', title: 'gives each row its token in the text' },
    changes: {
      'src/delivery/worker/row-payloads.ts': {
        'a text that is filled has no token': [
          'return template.fill(data, receipt);',
          'return template.fill(data);',
        ],
        'all get the message’s own text': [
          'text ?? broadcast.payload, receiptKey',
          'broadcast.payload, receiptKey',
        ],
      },
    },
  },
  {
    claim: 'A message to no channel with an action that turns one off is refused, whichever action it is',
    test: { file: 'test/protocol/message/texts.test.ts', title: 'texts are refused: ' },
    changes: {
      'src/protocol/message/measure-message.ts': {
        'it is not': ['  if (index === -1) return undefined;', '  if (index !== 0) return undefined;'],
      },
    },
  },
  {
    claim: 'A click focuses an open tab with the `url`, and no tab of another one',
    test: { file: 'test/browser/notification-clicks.all.test.ts', title: 'where a tab has the url already' },
    changes: {
      'src/client/worker/clicks.ts': {
        'one whose url begins with it will do': [
          '(url ? page.url === url :',
          '(url ? page.url.startsWith(url) :',
        ],
        'a further one is opened': [
          '(await openPages()).find(isIt);',
          '(await openPages()).find(() => !isIt);',
        ],
      },
    },
  },
  {
    claim: 'The `lang` of a notification is the language of the text, whatever the message has',
    test: { file: 'test/protocol/message/texts.test.ts', title: 'a message has one ID in all languages' },
    changes: {
      'src/protocol/message/localize-message.ts': {
        'that of the message stays': ['lang: language }', 'lang: own.lang ?? language }'],
      },
    },
  },
  {
    claim: 'The reader of a single message is looked up where it has texts or placeholders, once',
    test: { file: 'test/delivery/sender.test.ts', title: 'a message for all asks the store' },
    changes: {
      'src/protocol/message/encode-payload.ts': {
        'not for placeholders alone': [' || message?.placeholders === true;', ';'],
        'not for texts alone': ['message?.texts !== undefined || ', ''],
        'for every message': ['message?.texts !== undefined || ', 'true || '],
      },
    },
  },
  {
    claim: 'What the caller says of the reader of a single message stands before what is stored',
    test: { file: 'test/operator/api.test.ts', title: 'each device gets the text for its reader' },
    changes: {
      'src/delivery/single/reader.ts': {
        'the stored language holds': [
          'given.language ?? known?.language',
          'known?.language ?? given.language',
        ],
        'stored values hold': ['{ ...known?.data, ...given.data }', '{ ...given.data, ...known?.data }'],
      },
    },
  },
  {
    claim:
      'The operator’s API refuses a message whose title and text are both blank, in one of its languages too',
    test: { file: 'test/operator/api.test.ts', title: 'a message whose title and text are blank' },
    changes: {
      'src/protocol/message/assert-not-blank.ts': {
        'spaces are a text': ['`.trim() ===', '` ==='],
        'one language is enough': ['if (!isBlank(text)) continue;', 'if (!isBlank(text)) return;'],
      },
      'src/operator/api/broadcasts.ts': { 'broadcasts may be': ['      assertNotBlank(message);\n', ''] },
      'src/operator/api/schedules.ts': { 'schedules may be': ['      assertNotBlank(message);\n', ''] },
      'src/operator/send-message.ts': { 'single messages may be': ['  assertNotBlank(message);\n', ''] },
    },
  },
  {
    claim: '`deskbell send` refuses a message whose title and text are both blank',
    test: { file: 'test/cli/send.test.ts', title: 'a blank message is refused' },
    changes: {
      'src/cli/commands/send.ts': { 'it sends it': ['      assertNotBlank(message);\n', ''] },
      'src/cli/flags/message-flags.ts': {
        'a blank argument is one': ["given?.trim() === ''", 'given === null'],
      },
    },
  },
];
