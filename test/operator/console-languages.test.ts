// The texts of a message in other languages in the console's form, without a script, and what its readers see of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signIn, type Visitor } from './console-visitor.ts';
import { startOperator } from './running-operator.ts';

const wordsOf = ({ html }: Visitor['page']): string =>
  html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
const message = { title: 'Good morning, {name|there}', message: 'It rains', placeholders: 'yes' };

test('languages are added to the form of a message and taken away again, and nothing that was typed is lost', async (t) => {
  const visitor = await signIn(await startOperator(t));
  await visitor.open('/console/send');
  const send = (fields: Record<string, string>) => visitor.submit('/console/send', fields);
  const added = await send({ ...message, newLanguage: 'DE-at', step: 'language' });
  assert.match(added.html, /name="languages" value="de-AT"/);
  assert.match(wordsOf(added), /Austrian German \(de-AT\) Title/);
  assert.match(added.html, /name="title" value="Good morning, {name\|there}"/);
  // also where the key Enter was pressed in the field
  const both = await send({ ...message, newLanguage: 'pt', 'texts.de-AT.title': 'Griaß di' });
  assert.match(both.html, /name="languages" value="de-AT pt"/);
  assert.match(both.html, /name="texts.de-AT.title" value="Griaß di"/);
  for (const newLanguage of ['German!', 'x'.repeat(300), '{}']) {
    const { status, html } = await send({ ...message, newLanguage, 'texts.de-AT.title': 'Griaß di' });
    assert.equal(status, 400);
    assert.match(html, /data-fault="newLanguage"\s*>Give a BCP 47 language tag/);
    assert.match(html, /value="Griaß di"/);
    visitor.back();
  }
  const left = await send({ ...message, 'texts.de-AT.title': 'Griaß di', step: 'without de-AT' });
  assert.match(left.html, /name="languages" value="pt"/);
  assert.doesNotMatch(left.html, /Griaß di/);
});

test('a preview shows a language, or what a person gets with their data, as text', async (t) => {
  const operator = await startOperator(t);
  await operator.store.readers.setPerson('ada', { data: { name: '<b>Ada</b>' }, language: 'pt-BR' });
  const visitor = await signIn(operator);
  const fields = {
    ...message,
    languages: 'de pt',
    actionTitle1: 'Read',
    'texts.de.title': 'Guten Morgen, {name|du}',
    'texts.pt.title': 'Bom dia, {name}',
    'texts.pt.actionTitle1': 'Ler',
  };
  const ask = async (asked: Record<string, string>) => {
    await visitor.open('/console/send');
    const { html } = await visitor.post('/console/send', '/console/send/draft', { ...fields, ...asked });
    const { notes, shown } = JSON.parse(html) as Record<'notes' | 'shown', Record<string, string>>;
    return [shown['title'], shown['actionTitle0'], notes['shown']];
  };
  assert.deepEqual(await ask({}), ['Good morning, there', 'Read', 'The message’s own text.']);
  assert.deepEqual(await ask({ shownLanguage: 'de' }), [
    'Guten Morgen, du',
    'Read',
    'The text in German (de).',
  ]);
  // without a default, and without a person, it is shown as it is written
  assert.deepEqual(await ask({ shownLanguage: 'pt' }), [
    'Bom dia, {name}',
    'Ler',
    'The text in Portuguese (pt).',
  ]);
  const ofAda = [
    'Bom dia, <b>Ada</b>',
    'Ler',
    'The text in Portuguese (pt). The reader’s language is pt-BR.',
  ];
  assert.deepEqual(await ask({ shownUser: 'ada' }), ofAda);
  const [, , note] = await ask({ shownUser: 'nobody', shownLanguage: 'pt' });
  assert.equal(note, 'The text in Portuguese (pt). The person has no name.');

  await visitor.open('/console/send');
  const page = await visitor.submit('/console/send', { ...fields, shownUser: 'ada', step: 'edit' });
  assert.match(page.html, /data-shows="title" dir="auto">Bom dia, &lt;b&gt;Ada&lt;\/b&gt;</);
  const wrong = await visitor.submit('/console/send', { ...fields, title: 'Hello {', step: 'edit' });
  assert.match(wordsOf(wrong), /brace at character 7 belongs to no placeholder/);
});
