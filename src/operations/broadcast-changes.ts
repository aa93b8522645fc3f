// What can be done to a broadcast that there is.
import { broadcastView } from './broadcast.ts';
import { idParams, operation } from './operation.ts';

const change = (name: 'pause' | 'resume' | 'cancel', summary: string, description?: string) =>
  operation({
    route: `POST /v1/broadcasts/:id/${name}`,
    tag: 'Sending',
    operationId: `${name}Broadcast`,
    summary,
    ...(description !== undefined && { description }),
    params: idParams,
    answer: broadcastView,
    errors: ['ERR_BROADCAST_NOT_FOUND', 'ERR_BROADCAST_STATE'],
    action: `broadcast.${name}`,
    target: ({ id }) => `broadcast ${id}`,
    run: ({ store }, { id }) => store.broadcasts[name](id),
  });

export const broadcastChanges = {
  pause: change('pause', 'Pauses a broadcast', 'Workers stop after the page that they are delivering.'),
  resume: change('resume', 'Resumes a broadcast that is paused'),
  cancel: change('cancel', 'Cancels a broadcast for good', 'Messages that were sent stay sent.'),
};
