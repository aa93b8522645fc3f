// The page on which a reader chooses channels.
import { type Channel, ClientError, createClient } from '../index.ts';
import { directionOf } from '../choose-language.ts';
import { chooseTexts } from './texts.ts';

const { lang, texts } = chooseTexts(navigator.languages);
const element = (id: string): HTMLElement => document.getElementById(id)!;
const main = element('preferences');
const list = element('channels');
const retry = element('retry');

const client = createClient();

document.documentElement.lang = lang;
document.documentElement.dir = directionOf(lang);
document.title = `${texts.heading} – ${location.host}`;
element('heading').textContent = texts.heading;
element('intro').textContent = fill(texts.intro);
retry.textContent = texts.retry;
main.hidden = false;
retry.addEventListener('click', async () => {
  await load(client.resync());
  // after success the button that had the focus is hidden
  if (retry.hidden) list.querySelector('input')?.focus();
});
await load(client.synced);

/** @param synced resolves when the service has the subscription */
async function load(synced: Promise<unknown>): Promise<void> {
  main.ariaBusy = 'true';
  try {
    await synced;
    const channels = await client.channels();
    list.replaceChildren(...channels.map(itemOf));
    show(channels);
    say(channels.length === 0 ? texts.none : '');
  } catch (error) {
    say('', error);
  }
  main.ariaBusy = 'false';
}

function show(channels: readonly Channel[]): void {
  for (const { name, isOn } of channels) {
    const input = list.querySelector<HTMLInputElement>(`[name="${name}"]`);
    if (input) input.checked = isOn;
  }
}

function itemOf({ name, title, language = '' }: Channel): HTMLLIElement {
  const words = document.createElement('span');
  words.textContent = title;
  words.lang = language;
  words.dir = 'auto';
  const input = document.createElement('input');
  input.type = 'checkbox';
  input.setAttribute('role', 'switch');
  input.name = name;
  input.addEventListener('change', async () => {
    const { checked } = input;
    say('');
    try {
      show(await client.setChannels({ [name]: checked }));
      say(texts.saved);
    } catch (error) {
      input.checked = !checked;
      say('', error, `${texts.notSaved} `);
    }
  });
  const label = document.createElement('label');
  label.append(words, input);
  const item = document.createElement('li');
  item.append(label);
  return item;
}

function say(status: string, error?: unknown, before = ''): void {
  element('status').textContent = status;
  const problem = error === undefined ? undefined : problemOf(error);
  element('intro').hidden = list.childElementCount === 0;
  element('problem').textContent = problem ? before + fill(texts[problem]) : '';
  retry.hidden = problem !== 'offline' && problem !== 'failed';
}

function problemOf(error: unknown): 'unsubscribed' | 'lost' | 'offline' | 'failed' {
  if (!(error instanceof ClientError)) return 'failed';
  const { reason, status = 0 } = error;
  if (reason === 'server-unreachable' || reason === 'push-service-unreachable') return 'offline';
  // the service no longer has this browser's subscription and does not accept it
  if (reason === 'server-refused') return status === 401 || status === 403 ? 'lost' : 'failed';
  return list.childElementCount > 0 ? 'lost' : 'unsubscribed';
}

function fill(text: string): string {
  return text.replace('{site}', location.host);
}
