// The script of the console. Every page works without it: it shows live figures, times in the reader's own zone, the values of
// charts, and the notification while it is being written.
import { announceStatus } from './announcements.ts';
import { showBusyForms } from './busy.ts';
import { enableCharts, readCharts } from './charts.ts';
import { startComposer } from './composer.ts';
import { followLive } from './live.ts';
import { fillZones, showLocalTimes, showTimesFromNow } from './local-times.ts';

showLocalTimes(document);
fillZones();
showBusyForms();
enableCharts(document);
readCharts();
setInterval(() => showTimesFromNow(document), 20_000);
// what has been done is said once: not again after a reload, nor to whom the address is sent
const address = new URL(location.href);
if (address.searchParams.has('done')) {
  address.searchParams.delete('done');
  history.replaceState(history.state, '', address);
}
const { live, status } = document.body.dataset;
if (status) announceStatus(JSON.parse(status) as readonly string[]);
if (live) followLive(live);
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-composer]')) startComposer(form);
