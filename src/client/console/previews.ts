// The composer's previews: the form's texts, pictures and buttons as each browser shows them.

/** @param shown replaces the form's values if a reader gets others */
export function showPreviews(form: HTMLFormElement, shown: Readonly<Record<string, string>> = {}): void {
  const fields = new FormData(form);
  const given = (name: string): string => String(fields.get(name) ?? '');
  const text = (name: string): string => shown[name] ?? given(name);
  const places = (name: string) => form.querySelectorAll<HTMLElement>(`[data-shows="${name}"]`);
  for (const place of places('title')) place.textContent = text('title');
  for (const place of places('message')) place.textContent = text('message');
  for (const place of places('url')) place.textContent = text('url') || 'your page';
  const actions = [...fields.keys()]
    .filter((name) => name.startsWith('actionTitle'))
    .map(text)
    .filter(Boolean);
  for (const place of places('actions')) {
    place.replaceChildren(
      ...actions.slice(0, Number(place.dataset['max'])).map((title) => {
        const item = document.createElement('li');
        item.textContent = title;
        return item;
      }),
    );
  }
  const icon = text('icon');
  for (const picture of places('icon'))
    (picture as HTMLImageElement).src = /^data:image\//i.test(icon) ? icon : '/console/icon.svg';
  for (const place of form.querySelectorAll<HTMLElement>('[data-when]'))
    place.hidden = given(place.dataset['when']!) === '';
}
