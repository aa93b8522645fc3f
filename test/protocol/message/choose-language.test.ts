import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseLanguage } from '../../../src/protocol/language.ts';

const available = new Set(['de', 'de-AT', 'pt-BR', 'zh-Hant', 'zh']);

const chosen: readonly [wanted: string | undefined, language: string | undefined][] = [
  ['de-AT', 'de-AT'],
  ['de-CH', 'de'],
  ['de', 'de'],
  ['zh-Hant-TW', 'zh-Hant'],
  ['zh-Hans-CN', 'zh'],
  ['de-Latn-DE-1996', 'de'],
  ['pt', undefined],
  ['pt-PT', undefined],
  ['d', undefined],
  ['deu', undefined],
  ['en-US', undefined],
  ['', undefined],
  [undefined, undefined],
];

for (const [wanted, language] of chosen) {
  test(`a reader of ${wanted} gets ${language ?? 'the message’s own text'}`, () =>
    assert.equal(chooseLanguage(wanted, available), language));
}
