// What developers write: Deskbell in an application with Fastify, which sends from a route of its own, and a page built by Vite.

export const fastifyApplication = `
import { createSender, openDataDirectory } from 'deskbell';
import { createService } from 'deskbell/service';
import Fastify from 'fastify';

const pushServices = [process.env.PUSH_SERVICE!];
const { store, vapidKeys, sessionKey } = await openDataDirectory('deskbell-data');
const sender = createSender({
  store,
  vapid: { ...vapidKeys, subject: 'mailto:you@example.org' },
  pushServices,
});
const sendToAll = async () => {
  const run = await sender.broadcast('all', { title: 'Hello', message: 'Backups are done' });
  return (await run.finished).counts;
};

const app = Fastify();
app.register(
  createService({
    prefix: '/push',
    store,
    vapidPublicKey: vapidKeys.publicKey,
    sessionKey,
    pushServices,
    pushOnly: true,
    onSubscribe: ({ endpoint }) => console.log(\`subscription at \${new URL(endpoint).host}\`),
  }),
);
app.post('/notify', () => sendToAll());
console.log(\`listens on \${await app.listen({ host: '127.0.0.1', port: 0 })}\`);
`;

/** A page built by Vite; the code that makes its client is the documentation's. */
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
