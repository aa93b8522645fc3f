// A page built by Vite, whose code that makes the client is the documentation's.

export const viteFiles = (createClientCode: string): Readonly<Record<string, string>> => ({
  'index.html': `<!doctype html>
<title>Shop</title>
<button id="subscribe">Notify me</button>
<p id="state"></p>
<ol></ol>
<script type="module" src="/src/main.ts"></script>
`,
  'src/main.ts': `${createClientCode}
const state = document.querySelector('#state')!;
document.querySelector('#subscribe')!.addEventListener('click', () => {
  client.subscribe().then(
    () => (state.className = 'subscribed'),
    (error: Error) => (state.textContent = error.message),
  );
});
for await (const { title, message } of client.messages()) {
  const item = document.createElement('li');
  item.textContent = \`\${title}: \${message}\`;
  document.querySelector('ol')!.append(item);
}
`,
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      strict: true,
      noEmit: true,
      target: 'es2024',
      module: 'esnext',
      moduleResolution: 'bundler',
      lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
      types: ['vite/client'],
    },
    include: ['src'],
  }),
});
