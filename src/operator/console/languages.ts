// Texts of a message in other languages, as fields of the composer: `texts.de.title` and so on.
import { html, type Html } from '../../http/description/html.ts';
import { readLanguage } from '../../protocol/language.ts';
import { textDescriptions } from '../../protocol/message/members.ts';
import type { Message, MessageTexts } from '../../protocol/message/message.ts';
import { actionIndexes, type FormState, textArea, textInput } from './form-fields.ts';
import { fieldFault, optionalField, textField, type Fields } from './forms.ts';
import { lookUp } from '../../errors/check-options.ts';

const maxLanguages = 50;
const single = Object.entries(textDescriptions).filter(([name]) => name !== 'actions');

/** The languages as canonical tags, sorted by their names. */
export const languagesOf = (fields: Fields): readonly string[] =>
  textField(fields, 'languages')
    .split(' ', maxLanguages)
    .filter((tag) => readLanguage(tag) === tag)
    .toSorted(byName);

const nameOf = (language: string, name: string): string => `texts.${language}.${name}`;

const actionNames = (language: string, index: number): readonly string[] =>
  ['title', 'url'].map((name) => nameOf(language, `actions.${index}.${name}`));

/** @throws {DeskbellError} ERR_FIELD_VALUE if it is not a language */
export function addLanguage(fields: Fields): Fields {
  const language = readLanguage(textField(fields, 'newLanguage').trim());
  const languages = languagesOf(fields);
  if (languages.length >= maxLanguages)
    throw fieldFault('newLanguage', `A message has at most ${maxLanguages} languages.`);
  if (language === undefined)
    throw fieldFault('newLanguage', 'Give a BCP 47 language tag, such as de or pt-BR.');
  return {
    ...fields,
    newLanguage: '',
    languages: [...new Set([...languages, language])].join(' '),
  };
}

export const removeLanguage = (fields: Fields, removed: string): Fields => ({
  ...Object.fromEntries(Object.entries(fields).filter(([name]) => !name.startsWith(nameOf(removed, '')))),
  languages: languagesOf(fields)
    .filter((language) => language !== removed)
    .join(' '),
});

/** Converts the fields to texts by language. A button without a text in a language keeps its default text. */
export function toTexts(fields: Fields): Message['texts'] {
  const texts = languagesOf(fields).map((language) => {
    const members = single.map(([name]) => [name, optionalField(fields, nameOf(language, name))] as const);
    const text: MessageTexts = { ...Object.fromEntries(members), actions: toActions(fields, language) };
    return [language, text] as const;
  });
  return texts.length === 0 ? undefined : Object.fromEntries(texts);
}

function toActions(fields: Fields, language: string): MessageTexts['actions'] {
  const given = actionIndexes.map((index) => ({
    own: textField(fields, `actions.${index}.title`),
    title: textField(fields, nameOf(language, `actions.${index}.title`)),
    url: optionalField(fields, nameOf(language, `actions.${index}.url`)),
  }));
  if (given.every(({ title, url }) => title === '' && url === undefined)) return undefined;
  return given
    .filter(({ own, title }) => own !== '' || title !== '')
    .map(({ own, title, url }) => ({ title: title || own, url }));
}

const names = new Intl.DisplayNames('en', { type: 'language', fallback: 'code' });

/** `German (de)` */
export const describeLanguage = (language: string): string => `${names.of(language)} (${language})`;

export const byName = (one: string, other: string): number =>
  describeLanguage(one).localeCompare(describeLanguage(other), 'en');

/** A group of fields for each language, and a field to add a language. Works without a script. */
export const renderLanguages = (form: FormState): Html =>
  html`<input type="hidden" name="languages" value="${languagesOf(form.fields).join(' ')}" />
    ${languagesOf(form.fields).map((language) => renderLanguage(language, form))}
    <div class="with-button">
      ${textInput(form, 'newLanguage', {
        label: 'Add a language',
        hint: 'Such as de or pt-BR. Readers of other languages get the message as it stands above.',
        attributes: html`autocomplete="off" autocapitalize="off" size="12"`,
      })}
      <button name="step" value="language" formaction="/console/send#languages">Add</button>
    </div>`;

const renderLanguage = (language: string, form: FormState): Html =>
  html`<fieldset class="language" lang="${language}">
    <legend lang="en">${describeLanguage(language)}</legend>
    ${single.map(([name, { field }]) => {
      const render = name === 'message' ? textArea : textInput;
      return render(form, nameOf(language, name), {
        label: field.label,
        attributes: html`${name === 'message' && html`rows="3"`} dir="auto"
        placeholder="${lookUp(form.fields, name)}"`,
      });
    })}
    ${actionIndexes
      .filter((index) =>
        [`actions.${index}.title`, ...actionNames(language, index)].some((name) => lookUp(form.fields, name)),
      )
      .map(
        (index) =>
          html`<div class="pair">
            ${textInput(form, nameOf(language, `actions.${index}.title`), { label: `Button ${index + 1}` })}
            ${textInput(form, nameOf(language, `actions.${index}.url`), { label: 'Opens' })}
          </div>`,
      )}
    <p class="spread">
      <small>What is left empty is as in the message above.</small>
      <button
        name="step"
        value="without ${language}"
        class="small-button"
        formaction="/console/send#languages"
      >
        Remove ${language}
      </button>
    </p>
  </fieldset>`;
