// A browser without a screen: keeps the cookie, sends forms with the token that their page has, from the origin of the page.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type RunningOperator, startOperator } from './running-operator.ts';

export interface Visitor {
  /** Where the last page was; redirects are followed. */
  readonly page: { readonly url: string; readonly status: number; readonly html: string };
  cookie: string;
  /** Takes the page before this one out of its history, as it was. */
  back(): void;
  open(path: string): Promise<Visitor['page']>;
  /** Sends the form with this action of the page that is open, its hidden fields included unless others are given. */
  submit(action: string, fields?: Readonly<Record<string, string>>): Promise<Visitor['page']>;
  /** Sends the same to another address, as a script of the page does. */
  post(action: string, path: string, fields?: Readonly<Record<string, string>>): Promise<Visitor['page']>;
  /** Fills in the form of a message, opened anew, and sends it for review, or to another address. */
  compose(fields: Readonly<Record<string, string>>, path?: string): Promise<Visitor['page']>;
  /** The same as the page's script does while somebody types, and gets what is said of it. */
  draft(
    fields: Readonly<Record<string, string>>,
  ): Promise<Record<'notes' | 'faults', Readonly<Record<string, string>>> & { readonly previews: string }>;
}

export function createVisitor({ base }: Pick<RunningOperator, 'base'>): Visitor {
  let page = { url: '', status: 0, html: '' };
  let before = page;

  const request = async (path: string, init: RequestInit): Promise<Visitor['page']> => {
    const response = await fetch(base + path, {
      redirect: 'manual',
      ...init,
      headers: { ...(visitor.cookie !== '' && { cookie: visitor.cookie }), ...init.headers },
    });
    const [cookie] = response.headers.getSetCookie();
    if (cookie !== undefined) visitor.cookie = cookie.split(';')[0]!;
    const target = response.headers.get('location');
    if (target !== null) return request(target, {});
    before = page;
    page = { url: path, status: response.status, html: await response.text() };
    return page;
  };

  const visitor: Visitor = {
    get page() {
      return page;
    },
    cookie: '',
    back: () => {
      page = before;
    },
    open: (path) => request(path, {}),
    submit: (action, fields) => visitor.post(action, action, fields),
    compose: async (fields, path = '/console/send') => {
      await visitor.open('/console/send');
      return visitor.post('/console/send', path, fields);
    },
    draft: async (fields) => JSON.parse((await visitor.compose(fields, '/console/send/draft')).html),
    post: (action, path, fields = {}) => {
      const form = page.html.split('<form').find((text) => text.includes(`action="${action}"`));
      assert.ok(form, `${page.url} has a form for ${action}`);
      const hidden = form
        .split('</form>')[0]!
        .matchAll(/<input\s+type="hidden"\s+name="([\w.-]+)"\s+value="([^"]*)"/g);
      const body = new URLSearchParams([
        ...Array.from(hidden, ([, name, value]) => [name!, decode(value!)]).filter(
          ([name]) => !Object.hasOwn(fields, name!),
        ),
        ...Object.entries(fields),
      ]);
      return request(path, { method: 'POST', body, headers: { origin: base } });
    },
  };
  return visitor;
}

const entities: Readonly<Record<string, string>> = { quot: '"', '#39': "'", lt: '<', gt: '>', amp: '&' };

export const decode = (text: string): string =>
  text.replaceAll(/&([#\w]+);/g, (whole, name) => entities[name] ?? whole);

/** The words that a page shows. */
export const wordsOf = ({ html }: Visitor['page']): string =>
  html
    .replaceAll('<wbr />', '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ');

export async function signIn(
  operator: RunningOperator,
  role: 'full' | 'read' = 'full',
  name = `ada-${role}`,
): Promise<Visitor> {
  const visitor = createVisitor(operator);
  await visitor.open('/console/');
  await visitor.submit('/console/sign-in', { token: await operator.add(name, role) });
  assert.equal(visitor.page.url, '/console/');
  return visitor;
}

/** A listener of its own for a test, with somebody who has signed in to its console. */
export async function openConsole(
  t: TestContext,
  options: Parameters<typeof startOperator>[1] = {},
  role: 'full' | 'read' = 'full',
) {
  const operator = await startOperator(t, options);
  return { ...operator, operator, visitor: await signIn(operator, role) };
}
