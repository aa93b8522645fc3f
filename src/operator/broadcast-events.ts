// The events of one broadcast: `progress`, `alarm` and `done`. What is sent follows from the state of the broadcast alone, and
// an event's id says how much of that a client has, so that one that comes back misses nothing, to another process too.
import type { Progress } from '../delivery/broadcast/progress.ts';
import { isOver } from '../store/broadcasts.ts';
import { broadcastToJson, progressToJson } from '../operations/broadcast.ts';
import { alarmToJson } from '../operations/alarm.ts';
import type { ServerEvent } from './event-stream.ts';

/** What a client has. */
export interface SeenEvents {
  /** How many alarms: they are stored in their order and stay. */
  readonly alarms: number;
  readonly isDone: boolean;
}

/** @param lastEventId as the client sends it; anything that is none of ours has seen nothing */
export function readLastEventId(lastEventId: unknown): SeenEvents {
  const [, alarms = '0', done] = /^(\d{1,6})(-done)?$/.exec(String(lastEventId)) ?? [];
  return { alarms: Number(alarms), isDone: done !== undefined };
}

/** Progress is sent when something has changed; the last event is `done`. */
export async function* broadcastEvents(
  states: AsyncGenerator<Progress>,
  seen: SeenEvents,
): AsyncGenerator<ServerEvent> {
  let alarmsSeen = seen.alarms;
  let lastState = '';
  for await (const progress of states) {
    const { broadcast } = progress;
    for (const alarm of broadcast.alarms.slice(alarmsSeen)) {
      alarmsSeen += 1;
      yield {
        event: 'alarm',
        id: String(alarmsSeen),
        data: { broadcastId: broadcast.id, ...alarmToJson(alarm) },
      };
    }
    const shown = broadcastToJson(broadcast);
    if (isOver(broadcast)) {
      yield { event: 'done', id: `${alarmsSeen}-done`, data: shown };
      return;
    }
    const state = JSON.stringify(shown);
    if (state === lastState) continue;
    lastState = state;
    yield { event: 'progress', id: String(alarmsSeen), data: progressToJson(progress) };
  }
}
