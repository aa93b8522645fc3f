// The element's style. Pages change it with custom properties and parts; font and color scheme come from the page.

export const style = `
:host {
  --_accent: var(--deskbell-accent, #4338ca);
  --_on-accent: var(--deskbell-on-accent, #fff);
  --_good: var(--deskbell-good, #176638);
  --_line: var(--deskbell-line, color-mix(in srgb, currentcolor 20%, transparent));
  --_field: color-mix(in srgb, currentcolor 55%, transparent);
  --_tint: color-mix(in srgb, currentcolor 7%, transparent);
  display: block;
  container-type: inline-size;
  contain-intrinsic-inline-size: 36rem;
  min-width: 0;
  max-width: min(36rem, 100%);
  line-height: 1.5;
}
@supports (color: light-dark(red, red)) {
  :host {
    --_accent: var(--deskbell-accent, light-dark(#4338ca, #a9b1ff));
    --_on-accent: var(--deskbell-on-accent, light-dark(#fff, #16162b));
    --_good: var(--deskbell-good, light-dark(#176638, #7fdc9f));
  }
}
:host([hidden]), [hidden] { display: none !important; }
* { box-sizing: border-box; }
p, ul, ol { margin: 0; padding: 0; list-style: none; }
:focus-visible { outline: 3px solid var(--_accent); outline-offset: 3px; border-radius: 4px; }
[part='text']:focus { outline: none; }
[part='box'] {
  display: grid;
  grid-template-columns: auto minmax(0, 1fr);
  gap: 0.875rem 1rem;
  padding: 1.125rem;
  border: 1px solid var(--_line);
  border-radius: var(--deskbell-radius, 14px);
  background: var(--deskbell-background, transparent);
}
[part='icon'] {
  width: 2.75rem;
  height: 2.75rem;
  padding: 0.625rem;
  border-radius: 50%;
  background: var(--_tint);
  fill: currentcolor;
}
:host([state='subscribed']) [part='icon'] {
  background: color-mix(in srgb, var(--_good) 16%, transparent);
  fill: var(--_good);
}
[part='text'] { align-self: center; text-wrap: pretty; overflow-wrap: anywhere; }
button, details { grid-column: 2; }
button {
  justify-self: start;
  min-height: 2.75rem;
  padding: 0.5rem 1.25rem;
  border: 1px solid transparent;
  border-radius: calc(var(--deskbell-radius, 14px) * 0.7);
  background: var(--_accent);
  color: var(--_on-accent);
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}
button:hover { background: color-mix(in srgb, var(--_accent) 86%, currentcolor); }
:host([state='subscribed']) button { border-color: var(--_field); background: transparent; color: inherit; }
:host([state='subscribed']) button:hover { background: var(--_tint); }
button[aria-disabled='true'] { cursor: progress; opacity: 0.75; }
details { border-top: 1px solid var(--_line); padding-top: 0.75rem; }
summary { width: fit-content; font-weight: 600; cursor: pointer; }
[part='unread'] {
  margin-inline-start: 0.5rem;
  padding: 0.125rem 0.5rem;
  border-radius: 1rem;
  background: var(--_accent);
  color: var(--_on-accent);
  font-size: 0.8125rem;
}
label {
  display: flex;
  gap: 0.75rem;
  align-items: center;
  min-height: 2.75rem;
  cursor: pointer;
}
input { flex: none; width: 1.25rem; height: 1.25rem; margin: 0; accent-color: var(--_accent); cursor: pointer; }
li { text-align: start; overflow-wrap: anywhere; }
[part='history'] li { padding-block: 0.5rem; border-top: 1px solid var(--_line); }
[part='history'] li:first-child { border: 0; }
[part='history'] li.unread { padding-inline-start: 0.625rem; border-inline-start: 3px solid var(--_accent); }
[part='history'] p { white-space: pre-line; }
time { font-size: 0.8125rem; opacity: 0.8; }
a { color: inherit; }
@container (max-width: 24rem) {
  button, details { grid-column: 1 / -1; }
  button { width: 100%; }
}
`;
