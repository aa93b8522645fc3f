// The search in the header. The index is loaded when somebody begins to search. Without scripts there is no field.
import MiniSearch from './minisearch.js';
import { queryOptions, searchOptions } from './search-options.js';

const most = 12;
const area = document.querySelector('search');
const field = document.querySelector('#query');
const list = document.querySelector('#results');
const found = document.querySelector('#found');
const site = new URL(area.dataset.site || '.', document.baseURI);

let index;
const load = () => {
  index ??= fetch(new URL('search-index.json', site))
    .then((response) => response.text())
    .then((text) => MiniSearch.loadJSON(text, searchOptions));
  return index;
};

const show = async () => {
  const query = field.value.trim();
  if (query === '') return hide();
  const results = (await load()).search(query, queryOptions);
  if (field.value.trim() !== query) return;
  list.replaceChildren(...results.slice(0, most).map(render));
  list.hidden = results.length === 0;
  found.textContent =
    results.length === 0
      ? `Nothing found for “${query}”.`
      : results.length > most
        ? `The best ${most} of ${results.length} results.`
        : `${results.length} ${results.length === 1 ? 'result' : 'results'}.`;
};

const hide = () => {
  list.hidden = true;
  found.textContent = '';
};

function render({ title, page, address, start }) {
  const link = document.createElement('a');
  link.href = new URL(address, site).href;
  for (const [name, text] of [
    ['strong', title],
    ['small', page === title ? '' : page],
    ['span', start],
  ]) {
    if (text === '') continue;
    const element = document.createElement(name);
    element.textContent = text;
    link.append(element);
  }
  const item = document.createElement('li');
  item.append(link);
  return item;
}

function move(step) {
  const links = [...list.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement) + step;
  (at < 0 ? field : (links[at] ?? links.at(-1)))?.focus();
}

area.hidden = false;
field.addEventListener('focus', load, { once: true });
field.addEventListener('input', show);
area.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') {
    field.focus();
    hide();
  } else if (event.key === 'Enter' && event.target === field) list.querySelector('a')?.click();
  else if (event.key === 'ArrowDown') move(1);
  else if (event.key === 'ArrowUp') move(-1);
  else return;
  event.preventDefault();
});
area.addEventListener('focusout', (event) => {
  if (!area.contains(event.relatedTarget)) hide();
});
area.addEventListener('focusin', (event) => {
  if (event.target === field && list.hidden) show();
});
document.addEventListener('click', (event) => {
  if (!area.contains(event.target) || event.target.closest('a')) hide();
});
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest('input, textarea, select')) return;
  event.preventDefault();
  field.focus();
});

// the list of pages is open where there is room for it beside the text
const pages = document.querySelector('.pages details');
const wide = matchMedia('(min-width: 60rem)');
const adapt = () => {
  pages.open = wide.matches;
};
wide.addEventListener('change', adapt);
adapt();
document.querySelector('.pages [aria-current]')?.scrollIntoView({ block: 'nearest' });
