// The previews of the composer: the texts, pictures and buttons of the form, as far as each browser shows them.

export function showPreviews(form: HTMLFormElement): void {
  const fields = new FormData(form);
  const text = (name: string): string => String(fields.get(name) ?? '');
  const places = (name: string) => form.querySelectorAll<HTMLElement>(`[data-shows="${name}"]`);
  for (const place of places('title')) place.textContent = text('title') || 'Title';
  for (const place of places('message')) place.textContent = text('message');
  for (const place of places('url')) place.textContent = text('url') || 'your page';
  const actions = [...fields].filter(([name, value]) => name.startsWith('actionTitle') && value !== '');
  for (const place of places('actions')) {
    place.replaceChildren(
      ...actions.slice(0, Number(place.dataset['max'])).map(([, title]) => {
        const item = document.createElement('li');
        item.textContent = String(title);
        return item;
      }),
    );
  }
  const icon = text('icon');
  for (const picture of places('icon'))
    (picture as HTMLImageElement).src = /^data:image\//i.test(icon) ? icon : '/console/icon.svg';
  for (const place of form.querySelectorAll<HTMLElement>('[data-when]'))
    place.hidden = text(place.dataset['when']!) === '';
}
