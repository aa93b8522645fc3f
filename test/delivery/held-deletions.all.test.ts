// A push service, or a proxy in front of it, that answers 404 to everything must not empty the store; one that works
// and calls some subscriptions gone has them deleted.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { broadcastToAll, openStageWithRecorder, protocols, vapidKeys } from './fault-stage.ts';
import { pluck } from '../../tools/pluck.ts';

const rows = 600;

describe('held deletions', { concurrency: 2 }, () => {
  for (const protocol of protocols) {
    for (const threads of [0, 2]) {
      test(`404 to everything deletes none of ${rows}, over ${protocol}, ${threads} threads`, async (t) => {
        const { stage, recorder } = await openStageWithRecorder(t, protocol);
        await stage.enroll([...recorder.service.createSinks(rows, { vapidPublicKey: vapidKeys.publicKey })]);
        recorder.faults.inject({ kind: 'status', status: 404 });

        const broadcast = await broadcastToAll(stage, { sender: { threads } });
        assert.equal(broadcast.counts.gone, rows);
        assert.equal((await stage.stored()).length, rows);
        assert.deepEqual(pluck(broadcast.alarms, 'origin', 'reason'), [[recorder.origin, 'deletions-held']]);
        const [held] = await stage.store.heldDeletions.list();
        assert.deepEqual([held?.origin, held?.subscriptions], [recorder.origin, rows]);

        // the push service works again: everybody is still there, and nobody is marked any more
        recorder.faults.clear();
        const next = await broadcastToAll(stage, { sender: { threads } });
        assert.equal(next.counts.accepted, rows);
        assert.equal((await stage.stored()).length, rows);
        assert.deepEqual(await stage.store.heldDeletions.list(), []);
      });
    }
  }
});
