// Bodies of forms, and their fields as text.
import { parse as parseQuery } from 'node:querystring';
import type { FastifyInstance } from 'fastify';
import { type DeskbellError, fieldError } from '../../errors/deskbell-error.ts';
import { limitBodies } from '../../http/json-body.ts';
import type { AuditedAction } from '../audit-changes.ts';
import { lookUp } from '../../errors/check-options.ts';

/** A name that occurs more than once, as with check boxes, has a list of values. */
export type FormBody = Readonly<Record<string, string | readonly string[] | undefined>>;

export type Fields = Readonly<Record<string, string>>;

/** The default limit, which is large enough for forms without a long text. */
const bodyLimitBytes = 4096;
const maxFields = 700;

/** Makes the scope accept only forms. A route with a longer form sets its own limit. */
export function readForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  limitBodies(app, bodyLimitBytes);
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => done(null, parse(String(body))),
  );
}

/** Parses a form in linear time. Reads no more fields than our largest form has. */
function parse(text: string): FormBody {
  const fields = parseQuery(text, '&', '=', { maxKeys: maxFields });
  return Object.fromEntries(
    Object.entries(fields).map(([name, value = '']) => [
      name,
      typeof value === 'string' ? toLines(value) : value.map(toLines),
    ]),
  );
}

/** Browsers end lines of a text area with CR LF. */
const toLines = (text: string): string => text.replaceAll('\r\n', '\n');

/** @returns '' if the field does not exist */
export function textField(body: unknown, name: string): string {
  const value = lookUp((body ?? {}) as FormBody, name);
  return typeof value === 'string' ? value : '';
}

/** @param names default: those of all fields */
export const textFields = (body: unknown, names: readonly string[] = Object.keys(body ?? {})): Fields =>
  Object.fromEntries(names.map((name) => [name, textField(body, name)]));

/** Returns the value of a field; undefined if the field is empty. */
export const optionalField = (body: unknown, name: string): string | undefined =>
  textField(body, name) || undefined;

/** A positive integer, or undefined. */
export function idField(body: unknown, name: string): number | undefined {
  const text = textField(body, name).trim();
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}

/** The id of the subscription to find; undefined if the field is empty. @throws {DeskbellError} ERR_FIELD_VALUE */
export function subscriptionField(query: unknown, name: string): number | undefined {
  const id = idField(query, name);
  if (id !== undefined || textField(query, name).trim() === '') return id;
  throw fieldFault(name, 'A subscription is named by its number; give one, such as 7.');
}

export const fieldFault = (name: string, detail: string): DeskbellError =>
  fieldError('ERR_FIELD_VALUE', `/${name}`, detail);

/** Options of a route whose form changes something. @param target default: taken from the path, as `broadcast 7` */
export const audited = (
  action: string,
  target: AuditedAction['target'] = ({ params }) => `${action.split('.')[0]} ${textField(params, 'id')}`,
) => ({ config: { audit: { action, target } } });
