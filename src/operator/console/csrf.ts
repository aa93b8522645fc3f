// The token by which a form of the console proves that it was made for the session that sends it.
import { html, type Html } from '../../http/description/html.ts';
import { isSameSecret } from '../../protocol/same-secret.ts';
import { textField } from './forms.ts';
import type { ConsoleSession } from './sessions.ts';

/** Every form that changes something has it. */
export const csrfField = ({ csrfToken }: ConsoleSession): Html =>
  html`<input type="hidden" name="csrf" value="${csrfToken}" />`;

export const isOwnForm = (body: unknown, { csrfToken }: ConsoleSession): boolean =>
  isSameSecret(textField(body, 'csrf'), csrfToken);
