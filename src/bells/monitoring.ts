// Reads requests of monitoring systems. A request has the alerts of a group, or the state of a monitor.
import { lookUp } from '../errors/check-options.ts';
import type { JsonObject } from '../protocol/json-object.ts';
import type { Urgency } from '../protocol/request.ts';
import { listOf, objectOf, type Posted, type Shown, textOf } from './posted.ts';

const namedAlerts = 5;

const urgencies: Readonly<Record<string, Urgency>> = {
  critical: 'high',
  page: 'high',
  error: 'high',
  info: 'low',
  none: 'low',
};

/** Reads alerts from Alertmanager or Grafana. Grafana adds members to Alertmanager's format. */
export function readAlerts({ fields }: Posted, isGrafana: boolean): Shown | undefined {
  if (!Array.isArray(fields?.['alerts']) || (fields['orgId'] != null) !== isGrafana) return undefined;
  if (!isGrafana && textOf(fields['version']) !== '4') return undefined;
  const alerts = listOf(fields['alerts']);
  const firing = alerts.filter(({ status }) => status !== 'resolved');
  const isResolved = firing.length === 0;
  const named = isResolved ? alerts : firing;
  const first = named[0] ?? {};
  const labels = { ...objectOf(first['labels']), ...objectOf(fields['commonLabels']) };
  const count = named.length + Number(textOf(fields['truncatedAlerts']) ?? 0);
  const name = textOf(labels['alertname']) ?? textOf(fields['title']) ?? 'Alert';
  const lines = [...new Set(named.slice(0, namedAlerts).map((alert) => describeAlert(alert, count)))];
  const more = count - Math.min(named.length, namedAlerts);
  const resolved = alerts.length - firing.length;
  return {
    title: `${isResolved ? 'Resolved: ' : ''}${name}${count > 1 ? ` (${count})` : ''}`,
    text: [
      ...lines,
      ...(more > 0 ? [`and ${more} more`] : []),
      ...(!isResolved && resolved > 0 ? [`${resolved} resolved`] : []),
    ].join('\n'),
    url:
      count > 1
        ? fields['externalURL']
        : (first['panelURL'] ?? first['dashboardURL'] ?? first['generatorURL'] ?? fields['externalURL']),
    urgency: isResolved ? 'low' : lookUp(urgencies, textOf(labels['severity']) ?? ''),
    key: textOf(fields['groupKey']) ?? name,
    isQuiet: isResolved,
  };
}

/** Describes an alert, such as `db1: Disk is full`. An alert without annotations is described by its labels. */
function describeAlert({ labels: given, annotations: notes }: JsonObject, count: number): string {
  const { alertname: _name, ...labels } = objectOf(given);
  const { summary, description, message } = objectOf(notes);
  const texts = [summary, description, message].flatMap((text) => textOf(text) ?? []);
  if (texts.length === 0) {
    const entries = Object.entries(labels).filter(([name]) => !name.startsWith('__'));
    return entries.map(([name, value]) => `${name}=${textOf(value)}`).join(', ');
  }
  const instance = textOf(labels['instance']) ?? '';
  if (count === 1) return texts.slice(0, 2).join('\n');
  return texts[0]!.includes(instance) ? texts[0]! : `${instance}: ${texts[0]!}`;
}

const monitorStates = ['is down', 'is up', 'is pending', 'is in maintenance'];

/** Reads Uptime Kuma's requests. A request without a heartbeat is a test or a warning. */
export function readMonitor({ fields = {} }: Posted): Shown | undefined {
  const message = textOf(fields['msg']);
  if (message === undefined || !('monitor' in fields)) return undefined;
  const { id, name, url } = objectOf(fields['monitor']);
  const { status, msg } = objectOf(fields['heartbeat']);
  const isUp = status === 1;
  const state = typeof status === 'number' ? monitorStates[status] : undefined;
  const title = textOf(name);
  if (state === undefined) return { title, text: message, url };
  return {
    title: title && `${title} ${state}`,
    text: textOf(msg) ?? message,
    url,
    urgency: isUp ? 'low' : status === 0 ? 'high' : undefined,
    key: textOf(id),
    isQuiet: isUp,
  };
}
