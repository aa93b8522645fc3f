// A form that has been sent and whose answer takes a while: its button turns, and it is said to who cannot see it.
import { announce } from './announcements.ts';

/** Most answers are there before. */
const patienceMs = 500;

export function showBusyForms(): void {
  document.addEventListener('submit', ({ submitter }) => {
    const timer = setTimeout(() => {
      submitter?.setAttribute('aria-busy', 'true');
      announce('Working …');
    }, patienceMs);
    // the page comes back out of the history of the browser as it was
    addEventListener('pagehide', () => {
      clearTimeout(timer);
      submitter?.removeAttribute('aria-busy');
    });
  });
}
