// The script of /docs. Sends an operation's form and shows the response. Opens the operation named in the address.

for (const form of document.querySelectorAll<HTMLFormElement>('form[data-path]')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void tryOut(form);
  });
}

addEventListener('hashchange', openTarget);
openTarget();

async function tryOut(form: HTMLFormElement): Promise<void> {
  const button = form.querySelector('button')!;
  const answer = form.querySelector<HTMLElement>('.answer')!;
  button.disabled = true;
  try {
    const response = await send(form);
    showResponse(answer, response.ok ? 'good' : 'bad', [
      `${response.status} ${response.statusText}`,
      [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n'),
      toReadable(await response.text()),
    ]);
  } catch (error) {
    showResponse(answer, 'bad', ['No response', String(error)]);
  } finally {
    button.disabled = false;
  }
}

function send(form: HTMLFormElement): Promise<Response> {
  const { method = 'GET', path = '' } = form.dataset;
  const headers = new Headers();
  let filled = path;
  for (const { name, value, dataset } of form.querySelectorAll('input')) {
    if (dataset['in'] === 'path') filled = filled.replace(`{${name}}`, () => encodeURIComponent(value));
    else if (value !== '') headers.set(name, value);
  }
  const body = form.querySelector('textarea')?.value;
  if (body !== undefined) headers.set('content-type', 'application/json');
  // the page is at /docs, and paths are relative to its folder
  return fetch(new URL(`.${filled}`, location.href), { method, headers, cache: 'no-store', ...(body !== undefined && { body }) });
}

function showResponse(answer: HTMLElement, kind: 'good' | 'bad', [title = '', ...texts]: readonly string[]): void {
  const heading = document.createElement('strong');
  heading.textContent = title;
  const blocks = texts
    .filter((text) => text !== '')
    .map((text) => {
      const block = document.createElement('pre');
      block.textContent = text;
      return block;
    });
  answer.className = `answer ${kind}`;
  answer.replaceChildren(heading, ...blocks);
  answer.hidden = false;
}

function toReadable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

function openTarget(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!(target instanceof HTMLDetailsElement)) return;
  target.open = true;
  target.scrollIntoView();
}
