// Promises of docs/notifications.md.
import type { DocumentedPromise } from '../promise.ts';

const templates = 'test/protocol/message/template.test.ts';

export const notifications: readonly DocumentedPromise[] = [
  {
    claim:
      'A reader gets the text in the language, else without its script and region, else the message’s own',
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
];
