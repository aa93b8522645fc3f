// A notification about as browsers show it. Pictures of other hosts are not loaded: a data URL is.
import { html, type Html } from '../../http/description/html.ts';
import type { Fields } from './forms.ts';
import { actionCount } from './message-form.ts';

export function renderPreviews(fields: Fields): Html {
  const { title = '', message = '', url = '', icon = '' } = fields;
  const actions = Array.from({ length: actionCount }, (_, index) => fields[`actionTitle${index}`] ?? '');
  return html`<div class="notification" data-preview>
    <span class="picture" aria-hidden="true"
      ><img src="${/^data:image\//i.test(icon) ? icon : '/console/icon.svg'}" alt=""
    /></span>
    <strong data-shows="title" dir="auto">${title === '' ? 'Title' : title}</strong>
    <p class="message" data-shows="message" dir="auto">${message}</p>
    <p class="quiet small" data-shows="url">${url}</p>
    <ul class="actions" data-shows="actions">
      ${actions.filter(Boolean).map((text) => html`<li>${text}</li>`)}
    </ul>
  </div>`;
}
