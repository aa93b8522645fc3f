// Shows on its button that a submitted form is waiting for the answer, and announces it.
import { announce } from './announcements.ts';

const patienceMs = 500;

export function showBusyForms(): void {
  document.addEventListener('submit', ({ submitter }) => {
    const timer = setTimeout(() => {
      submitter?.setAttribute('aria-busy', 'true');
      announce('Working …');
    }, patienceMs);
    // the browser may show the page again from its history
    addEventListener('pagehide', () => {
      clearTimeout(timer);
      submitter?.removeAttribute('aria-busy');
    });
  });
}
