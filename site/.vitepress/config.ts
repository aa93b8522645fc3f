// The pages are those that build.ts has written. Everything that a page loads is in the site.
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import { anchorOf } from '../../scripts/write-page.ts';

export default defineConfig({
  title: 'Deskbell',
  description: 'Web Push from your own server',
  // The path at which the site is served, such as /deskbell/.
  base: process.env['SITE_BASE'] ?? '/',
  srcDir: 'pages',
  // the tutorial's own page
  ignoreDeadLinks: 'localhostLinks',
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: `${process.env['SITE_BASE'] ?? '/'}icon.svg` }],
  ],
  markdown: {
    anchor: { slugify: anchorOf },
    // so that Vue takes no braces in it for an expression
    config({ renderer: { rules } }) {
      const render = rules.code_inline!;
      rules.code_inline = (...given) => render(...given).replace('<code', '<code v-pre');
    },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  themeConfig: {
    logo: '/icon.svg',
    nav: [
      { text: 'Tutorial', link: '/tutorial' },
      { text: 'Documentation', link: '/documentation' },
      { text: 'Library', link: '/library' },
    ],
    sidebar: JSON.parse(readFileSync(new URL('../pages/sidebars.json', import.meta.url), 'utf8')) as object,
    outline: [2, 3],
    search: { provider: 'local' },
  },
});
