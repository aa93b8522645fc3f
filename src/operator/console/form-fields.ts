// Form inputs. An input can have a hint, a note on its value, and an error.
import { lookUp } from '../../errors/check-options.ts';
import { html, type Html } from '../../http/description/html.ts';
import { select } from './components.ts';
import type { Fields } from './forms.ts';

export interface FormState {
  readonly fields: Fields;
  /** A note on each value that needs one, by field name. */
  readonly notes: Fields;
  /** What is wrong with values, by field name. */
  readonly faults: Fields;
}

interface InputOptions {
  readonly label: string | Html;
  readonly hint?: string | undefined;
  /** Further attributes of the input, besides name and value. */
  readonly attributes?: Html;
}

type Input = (attributes: Html) => Html;

const fieldId = (name: string): string => `field-${name}`;

/**
 * Renders what is shown above a refused form: links to the fields with errors. This element takes the focus.
 *
 * @param message an error that belongs to no single field, or ''
 */
export function renderFaults(faults: Fields, message: string): Html {
  const entries = Object.entries(faults);
  return html`<div class="notice bad" role="alert" tabindex="-1" autofocus>
    <h2>This cannot be sent yet</h2>
    ${message !== '' && html`<p>${message}</p>`}
    <ul class="plain">
      ${entries.map(([name, fault]) => html`<li><a href="#${fieldId(name)}">${fault}</a></li>`)}
    </ul>
  </div>`;
}

/** The page's script updates notes and errors while the form is filled in. */
function field(form: FormState, name: string, { label, hint }: InputOptions, input: Input): Html {
  const fault = lookUp(form.faults, name) ?? '';
  const described = [hint !== undefined && `hint-${name}`, `note-${name}`, `fault-${name}`].filter(Boolean);
  const attributes = html`id="${fieldId(name)}" aria-describedby="${described.join(' ')}"
  ${fault !== '' && html`aria-invalid="true"`}`;
  return html`<div class="field">
    <label>${label} ${input(attributes)}</label>
    ${hint !== undefined && html`<small id="hint-${name}">${hint}</small>`}
    <small id="note-${name}" data-note="${name}">${lookUp(form.notes, name) ?? ''}</small>
    <small id="fault-${name}" class="fault" data-fault="${name}">${fault}</small>
  </div>`;
}

export const textInput = (form: FormState, name: string, options: InputOptions, type = 'text'): Html =>
  field(form, name, options, (attributes) => {
    const value = html`type="${type}" name="${name}" value="${lookUp(form.fields, name) ?? ''}"`;
    return html`<input ${value} ${attributes} ${options.attributes} />`;
  });

export const textArea = (form: FormState, name: string, options: InputOptions): Html =>
  field(form, name, options, (attributes) => {
    const value = lookUp(form.fields, name) ?? '';
    return html`<textarea name="${name}" ${attributes} ${options.attributes}>${value}</textarea>`;
  });

export const checkbox = (form: FormState, name: string, label: string, hint?: string): Html =>
  html`<label class="check">
    <input
      type="checkbox"
      id="${fieldId(name)}"
      name="${name}"
      value="yes"
      ${lookUp(form.fields, name) === 'yes' && html`checked`}
    />
    ${label} ${hint !== undefined && html`<small>${hint}</small>`}
  </label>`;

export const choice = (
  form: FormState,
  name: string,
  label: string,
  options: readonly (readonly [value: string, text: string])[],
): Html =>
  field(form, name, { label }, (attributes) => select(name, options, lookUp(form.fields, name), attributes));

export const actionCount = 3;
export const actionIndexes = Array.from({ length: actionCount }, (_, index) => index);

const namesOfAction = (index: number): readonly string[] =>
  ['title', 'url', 'icon', 'action'].map((name) => `actions.${index}.${name}`);

export const actionFieldNames: readonly string[] = actionIndexes.flatMap(namesOfAction);

/** The indexes of the buttons that have a value. Only these buttons are sent. */
export const filledActions = (fields: Fields): readonly number[] =>
  actionIndexes.filter((index) => namesOfAction(index).some((name) => lookUp(fields, name)));
