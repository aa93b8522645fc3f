// The token by which a form of the console proves that it was made for the session that sends it.
import { timingSafeEqual } from 'node:crypto';
import { html, type Html } from '../../http/description/html.ts';
import { textField } from './forms.ts';
import type { ConsoleSession } from './sessions.ts';

/** Every form that changes something has it. */
export const csrfField = ({ csrfToken }: ConsoleSession): Html =>
  html`<input type="hidden" name="csrf" value="${csrfToken}" />`;

/** Compares in a time that tells nothing of what is expected. */
export function isOwnForm(body: unknown, { csrfToken }: ConsoleSession): boolean {
  const [one, other] = [Buffer.from(textField(body, 'csrf')), Buffer.from(csrfToken)];
  return one.length === other.length && timingSafeEqual(one, other);
}
