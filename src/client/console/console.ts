// The script of the console. Every page works without it: it shows live figures, times in the reader's own zone, and the
// notification while it is being written.
import { startComposer } from './composer.ts';
import { showLocalTimes } from './local-times.ts';

liveParts();
showLocalTimes(document);
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-composer]')) startComposer(form);

/** Replaces the parts of the page that have changed; their HTML comes from the same functions as the page. */
function liveParts(): void {
  const { live } = document.body.dataset;
  if (!live) return;
  const events = new EventSource(live);
  events.addEventListener('message', ({ data }: MessageEvent<string>) => {
    for (const [id, content] of Object.entries(JSON.parse(data) as Record<string, string>)) {
      const part = document.getElementById(id);
      // What somebody is about to press stays where it is.
      if (!part || part.contains(document.activeElement)) continue;
      part.innerHTML = content;
      showLocalTimes(part);
    }
  });
}
