// The previews of the composer: the texts, pictures and buttons of the form, in each of them.

export function showPreviews(form: HTMLFormElement): void {
  const fields = new FormData(form);
  const text = (name: string): string => String(fields.get(name) ?? '');
  const places = (name: string) => form.querySelectorAll<HTMLElement>(`[data-shows="${name}"]`);
  for (const place of places('title')) place.textContent = text('title') || 'Title';
  for (const name of ['message', 'url']) for (const place of places(name)) place.textContent = text(name);
  const actions = [...fields].filter(([name, value]) => name.startsWith('actionTitle') && value !== '');
  for (const place of places('actions')) {
    place.replaceChildren(
      ...actions.map(([, title]) => {
        const item = document.createElement('li');
        item.textContent = String(title);
        return item;
      }),
    );
  }
  const icon = text('icon');
  for (const picture of form.querySelectorAll<HTMLImageElement>('.picture img'))
    picture.src = /^data:image\//i.test(icon) ? icon : '/console/icon.svg';
}
