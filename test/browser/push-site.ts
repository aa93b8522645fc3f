// A site with the service below /push/ on its own origin, as its documentation has it: one page for each way to offer notifications,
// under a content security policy that allows nothing else.
import { build } from 'esbuild';
import { join } from 'node:path';
import { codeBlocks } from '../documentation/pages.ts';
import { passOn, type Site, startSite } from './site.ts';

const clientFolder = join(import.meta.dirname, '../../src/client');
const contentSecurityPolicy =
  "default-src 'self'; style-src 'none'; require-trusted-types-for 'script'; trusted-types deskbell vue svelte-trusted-html";

/** The block of docs/client.md or docs/client-recipes.md that has this in it. */
export function recipe(language: string, part: string): string {
  const block = codeBlocks.find(
    ({ path, language: own, code }) =>
      /^docs\/client(-recipes)?\.md$/.test(path) && own === language && code.includes(part),
  );
  if (!block) throw new Error(`The pages have no ${language} with ${part}`);
  return block.code;
}

const element = recipe('html', '<deskbell-subscribe');

/** What each page is made of, in HTML; scripts stand in files of their own, as the policy wants it. */
const pages: Readonly<Record<string, string>> = {
  '/': element,
  '/own-words':
    '<script type="module" src="/push/client/subscribe.js"></script><deskbell-subscribe lang="de">We tell you when your order ships.</deskbell-subscribe>',
  '/plain': recipe('html', 'id="subscribe"').replace(
    /<script type="module">.*<\/script>/s,
    '<script type="module" src="/plain.js"></script>',
  ),
  '/react': '<div id="app"></div><script type="module" src="/react.js"></script>',
  '/vue': '<div id="app"></div><script type="module" src="/vue.js"></script>',
  '/svelte': '<div id="app"></div><script type="module" src="/svelte.js"></script>',
};

/** What a page shows with the code of the documentation. */
const scripts: Readonly<Record<string, string>> = {
  '/react.js': `
    import { StrictMode } from 'react';
    import { createRoot } from 'react-dom/client';
    import { Notifications } from './recipe';
    createRoot(document.querySelector('#app')).render(<StrictMode><Notifications /></StrictMode>);`,
  '/vue.js': `
    import { createApp, h } from 'vue';
    import { client, usePush } from './recipe';
    createApp({
      setup() {
        const { state, messages } = usePush();
        return () => [
          h('button', { onClick: () => client.subscribe() }, state.value?.isStored ? 'Turn off' : 'Turn on notifications'),
          h('ul', messages.value.map(({ title, message }) => h('li', title + ': ' + message))),
        ];
      },
    }).mount('#app');`,
  '/svelte.js': `
    import { client, messages, pushState } from './recipe';
    const app = document.querySelector('#app');
    const button = document.createElement('button');
    const list = document.createElement('ul');
    button.onclick = () => client.subscribe();
    app.append(button, list);
    pushState.subscribe((state) => (button.textContent = state?.isStored ? 'Turn off' : 'Turn on notifications'));
    messages.subscribe((all) => list.replaceChildren(...all.map(({ title, message }) => {
      const item = document.createElement('li');
      item.textContent = title + ': ' + message;
      return item;
    })));`,
};

const recipes: Readonly<Record<string, string>> = {
  '/react.js': recipe('jsx', "from 'deskbell/react'"),
  '/vue.js': recipe('ts', "from 'vue'"),
  '/svelte.js': recipe('ts', "from 'svelte/store'"),
};

/** @param serviceUrl of a service with the prefix /push */
export async function startPushSite(serviceUrl: string): Promise<Site> {
  return startSite(async (request, response) => {
    const path = request.url!.split('?')[0]!;
    if (path.startsWith('/push/')) return passOn(request, response, serviceUrl);
    const html = pages[path];
    response.setHeader('content-security-policy', contentSecurityPolicy);
    response.setHeader('content-type', html ? 'text/html; charset=utf-8' : 'text/javascript');
    const script = path === '/plain.js' ? plainScript : scripts[path] && (await bundle(path));
    if (path === '/missing.js') response.statusCode = 404;
    response.end(
      html
        ? `<!doctype html><html lang="en"><title>A site</title><main><h1>A site</h1>${html}</main></html>`
        : (script ?? ''),
    );
  });
}

const plainScript = /<script type="module">(.*)<\/script>/s.exec(recipe('html', 'id="subscribe"'))![1]!;

async function bundle(path: string): Promise<string> {
  const virtual: Readonly<Record<string, string>> = {
    './push-client': recipe('ts', 'export const client = createClient('),
    './recipe': recipes[path]!,
  };
  const { outputFiles } = await build({
    stdin: { contents: scripts[path]!, loader: 'jsx', resolveDir: import.meta.dirname },
    alias: {
      'deskbell/client': join(clientFolder, 'index.ts'),
      'deskbell/react': join(clientFolder, 'react.ts'),
    },
    bundle: true,
    format: 'esm',
    jsx: 'automatic',
    define: {
      'process.env.NODE_ENV': '"development"',
      __VUE_OPTIONS_API__: 'false',
      __VUE_PROD_DEVTOOLS__: 'false',
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
    },
    write: false,
    plugins: [
      {
        name: 'the documentation',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /^\.\/(?:push-client|recipe)$/ }, ({ path: name }) => ({
            path: name,
            namespace: 'documentation',
          }));
          onLoad({ filter: /.*/, namespace: 'documentation' }, ({ path: name }) => ({
            contents: virtual[name]!,
            loader: path === '/react.js' && name === './recipe' ? 'jsx' : 'ts',
            resolveDir: import.meta.dirname,
          }));
        },
      },
    ],
  });
  return outputFiles[0]!.text;
}
