// A notification about as four browsers show it at first, with what each cuts and leaves out. Where each figure comes from is in
// docs/notifications.md. Pictures of other hosts are not loaded: a data URL is. Lines are cut by the style of the page.
import { html, type Html } from '../../http/description/html.ts';
import { actionIndexes } from './action-fields.ts';
import { badge } from './components.ts';
import type { Fields } from './forms.ts';
import { lookUp } from '../../errors/look-up.ts';

const pictures = ['icon', 'image', 'badge'] as const;

/** More than the lines of any surface hold. */
const maxPreviewCharacters = 500;

interface Surface {
  readonly name: string;
  /** Its class in the style, which has the lines of title and text. */
  readonly style: string;
  /** What it shows; the image and the badge are only named. */
  readonly pictures: readonly (typeof pictures)[number][];
  readonly maxActions: number;
  /** Whether buttons are there before the notification is unfolded. */
  readonly hasActionsAtFirst: boolean;
  readonly note: string;
}

/** With the lines that are shown at first. */
const surfaces: readonly Surface[] = [
  {
    name: 'Chrome on Windows',
    style: 'windows',
    pictures: ['icon', 'image'],
    maxActions: 2,
    hasActionsAtFirst: true,
    note: 'Title: 2 lines. Text: 4 lines.',
  },
  {
    name: 'Firefox on Linux',
    style: 'linux',
    pictures: ['icon'],
    maxActions: 3,
    hasActionsAtFirst: false,
    note: 'On GNOME. Title: 1 line. Text: 1 line; unfolded 6, with the buttons.',
  },
  {
    name: 'Safari on macOS',
    style: 'macos',
    pictures: [],
    maxActions: 0,
    hasActionsAtFirst: false,
    note: 'Approximate: Apple documents no figures. Title: 1 line. Text: 4 lines.',
  },
  {
    name: 'Chrome on Android',
    style: 'android',
    pictures,
    maxActions: 2,
    hasActionsAtFirst: false,
    note: 'Title: 1 line. Text: 1 line; unfolded all of it, with image and buttons.',
  },
];

export function renderPreviews(fields: Fields): Html {
  return html`<div class="previews">${surfaces.map((surface) => renderSurface(surface, fields))}</div>
    <p class="quiet small">
      A click opens <span data-shows="url">${fields['url'] || 'your page'}</span>. Widths and fonts are those
      of this page: where a line ends differs from what people see.
    </p>`;
}

function renderSurface(surface: Surface, fields: Fields): Html {
  const { icon = '' } = fields;
  const [title, message] = ['title', 'message'].map((name) =>
    (lookUp(fields, name) ?? '').slice(0, maxPreviewCharacters),
  );
  const { name, style, maxActions, hasActionsAtFirst, note } = surface;
  const actions = actionIndexes.slice(0, maxActions).map((index) => lookUp(fields, `actionTitle${index}`));
  const picture =
    surface.pictures.includes('icon') && /^data:image\//i.test(icon) ? icon : '/console/icon.svg';
  return html`<figure class="preview ${style}">
    <figcaption class="small"><strong>${name}</strong></figcaption>
    <div class="notification">
      <span class="picture" aria-hidden="true"
        ><img src="${picture}" alt="" ${surface.pictures.includes('icon') && html`data-shows="icon"`}
      /></span>
      <strong data-shows="title" dir="auto">${title}</strong>
      <p class="message" data-shows="message" dir="auto">${message}</p>
      ${
        style === 'windows' &&
        html`<span class="image small quiet" ${hiddenUnless(fields, 'image')}>The image stands here.</span>`
      }
      ${
        hasActionsAtFirst &&
        html`<ul class="actions" data-shows="actions" data-max="${maxActions}">
          ${actions.filter(Boolean).map((text) => html`<li>${text}</li>`)}
        </ul>`
      }
    </div>
    <p class="quiet small">${note}</p>
    <div class="omitted small">
      <span class="quiet">Not shown:</span>
      <ul>
        ${omissions(surface).map(([field, what]) => html`<li ${hiddenUnless(fields, field)}>${badge(what, 'warn')}</li>`)}
      </ul>
    </div>
  </figure>`;
}

/** The fields whose values it never shows, with what they are. */
const omissions = ({ pictures: shown, maxActions }: Surface): readonly (readonly [string, string])[] => [
  ...pictures.filter((name) => !shown.includes(name)).map((name) => [name, name] as const),
  ...actionIndexes.slice(maxActions).map((index) => [`actionTitle${index}`, `button ${index + 1}`] as const),
];

/** The script of the page shows it as soon as the field has a value. */
const hiddenUnless = (fields: Fields, name: string): Html =>
  html`data-when="${name}" ${(lookUp(fields, name) ?? '') === '' && html`hidden`}`;
