// The script of the console, whose pages all work without it.
import { announceStatus, showBusyForms } from './announcements.ts';
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
const address = new URL(location.href);
if (address.searchParams.has('done')) {
  address.searchParams.delete('done');
  history.replaceState(history.state, '', address);
}
const { live, status } = document.body.dataset;
if (status) announceStatus(JSON.parse(status) as readonly string[]);
if (live) followLive(live);
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-composer]')) startComposer(form);
