// Forms: their bodies, and their fields as text.
import type { FastifyInstance } from 'fastify';

/** A name that is given more than once, as check boxes are, has a list. */
export type FormBody = Readonly<Record<string, string | readonly string[] | undefined>>;

export function readForms(app: FastifyInstance, bodyLimit: number): void {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit },
    (_request, body, done) => done(null, parse(String(body))),
  );
}

function parse(text: string): FormBody {
  const fields = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    // Browsers end lines of a text area with CR LF.
    fields.set(name, [...(fields.get(name) ?? []), value.replaceAll('\r\n', '\n')]);
  }
  return Object.fromEntries(
    [...fields].map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
}

/** @returns empty where it is missing */
export function textField(body: unknown, name: string): string {
  const value = ((body ?? {}) as FormBody)[name];
  return typeof value === 'string' ? value : '';
}

/** The field, or undefined where it is empty. */
export const optionalField = (body: unknown, name: string): string | undefined =>
  textField(body, name) || undefined;

/** A whole number from 1, or undefined. */
export function idField(body: unknown, name: string): number | undefined {
  const text = textField(body, name).trim();
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}
