// Suggests tags in use, as a combobox with a list (ARIA 1.2), instead of the page's `datalist`, which serves one tag
// only.

interface Tag {
  readonly name: string;
  readonly label: string;
}

const maxShown = 8;

export function startTagFields(form: HTMLFormElement): void {
  const tags = Array.from(form.querySelectorAll<HTMLOptionElement>('#tags option'), ({ value, text }) => ({
    name: value,
    label: text,
  }));
  if (tags.length === 0) return;
  for (const input of form.querySelectorAll<HTMLInputElement>('input[data-tags]')) startTagField(input, tags);
}

function startTagField(input: HTMLInputElement, tags: readonly Tag[]): void {
  const isOne = input.dataset['tags'] === 'one';
  const list = document.createElement('ul');
  list.id = `tags-${input.name}`;
  list.className = 'suggestions';
  list.hidden = true;
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', 'Tags in use');
  input.closest('.field')!.append(list);
  input.removeAttribute('list');
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-autocomplete': 'list',
    'aria-controls': list.id,
    'aria-expanded': 'false',
  }))
    input.setAttribute(name, value);

  const options = (): HTMLElement[] => [...list.querySelectorAll<HTMLElement>('[role="option"]')];

  const close = (): void => {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  };

  const pick = (tag: string): void => {
    input.value = isOne ? tag : `${input.value.replace(/[^\s,]*$/, '')}${tag}, `;
    input.dispatchEvent(new Event('input', { bubbles: true }));
    close();
  };

  const open = (): void => {
    const words = isOne ? [input.value.trim()] : input.value.split(/[\s,]+/);
    const typed = words.pop()!.toLowerCase();
    const found = tags
      .filter(({ name }) => name.toLowerCase().startsWith(typed) && !words.includes(name))
      .slice(0, maxShown);
    // the only suggestion is already typed
    if (found.length === 0 || (found.length === 1 && found[0]!.name === typed)) return close();
    list.replaceChildren(
      ...found.map(({ name, label }, index) => {
        const option = document.createElement('li');
        option.id = `${list.id}-${index}`;
        option.setAttribute('role', 'option');
        option.setAttribute('aria-selected', 'false');
        option.dataset['tag'] = name;
        option.textContent = label;
        return option;
      }),
    );
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    input.removeAttribute('aria-activedescendant');
  };

  /** @param step 1: the next one; -1: the previous one; wraps around */
  const move = (step: number): void => {
    if (list.hidden) open();
    const all = options();
    if (list.hidden || all.length === 0) return;
    const current = all.findIndex(({ id }) => id === input.getAttribute('aria-activedescendant'));
    const next = all[(current + step + all.length + Number(current === -1 && step < 0)) % all.length]!;
    for (const option of all) option.setAttribute('aria-selected', String(option === next));
    input.setAttribute('aria-activedescendant', next.id);
    next.scrollIntoView({ block: 'nearest' });
  };

  input.addEventListener('input', open);
  input.addEventListener('focus', open);
  input.addEventListener('blur', close);
  input.addEventListener('keydown', (event) => {
    const chosen = document.getElementById(input.getAttribute('aria-activedescendant') ?? '');
    if (event.key === 'ArrowDown') move(1);
    else if (event.key === 'ArrowUp') move(-1);
    else if (event.key === 'Escape' && !list.hidden) close();
    else if (event.key === 'Enter' && chosen !== null) pick(chosen.dataset['tag']!);
    else return;
    event.preventDefault();
  });
  // before the field loses the focus
  list.addEventListener('mousedown', (event) => {
    event.preventDefault();
    const option = (event.target as Element).closest<HTMLElement>('[role="option"]');
    if (option !== null) pick(option.dataset['tag']!);
  });
}
