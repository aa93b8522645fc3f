// The store that the pictures of docs/images show: a shop with some thousand readers, a month old. Nothing of it depends on chance.
import { firstTimeAfter } from '../../src/delivery/schedule/recurrence.ts';
import type { Store } from '../../src/store/store.ts';
import { openStage, type Wording } from '../../test/browser/console-stage.ts';
import { madeUpSubscription } from '../../test/store/made-up-subscription.ts';
import { madeUpSchedule } from '../../test/store/store-under-test.ts';

export const shownUser = 'nadia@example.org';

const wording: Wording = {
  user: shownUser,
  tag: 'weekly',
  oldest: ['New in the shop', 'Three teas from Assam'],
  older: ['Weekend offers', 'Ten per cent off every pot'],
  channel: 'Weekly digest',
  titles: { de: 'Nachrichten', fr: 'Actualités' },
  person: { data: { name: 'Nadia', orders: 3 }, language: 'en', timeZone: 'Europe/London' },
};

/** @param rows about how many subscriptions it has */
export async function openShownStore(rows: number) {
  const stage = await openStage(rows, wording);
  await addExamples(stage.store, stage.ids);
  return stage;
}

async function addExamples(
  { audit, schedules, subscriptions, vapidKeys }: Store,
  { running, paused }: { readonly running: number; readonly paused: number },
): Promise<void> {
  const endpoint = 'https://updates.push.services.mozilla.com/wpush/v2/example';
  await subscriptions.put({ ...madeUpSubscription(9999), endpoint }, (await vapidKeys.current())!, {
    assign: { user: shownUser, tags: ['news', 'tea'] },
  });
  const timezone = 'Europe/London';
  for (const [cron, title, message, tag] of [
    ['30 7 * * 1-5', 'Good morning', 'What is on today', 'news'],
    ['0 15 * * *', 'Tea is ready', 'Come while it is hot', 'tea'],
  ] as const)
    await schedules.add(
      madeUpSchedule({
        cron,
        timezone,
        message: { title, message },
        audience: { tags: { any: [tag] } },
        nextAtMs: firstTimeAfter(Date.now(), cron, timezone),
      }),
    );
  await schedules.pause(2);
  for (const [operator, action, target, status] of [
    ['ada', 'broadcast.create', `broadcast ${running}`, 303],
    ['grace', 'channel.put', 'channel weekly', 303],
    ['shop', 'subscription.remove', 'subscription 7', 404],
    ['grace', 'schedule.pause', 'schedule 2', 303],
    ['ada', 'broadcast.pause', `broadcast ${paused}`, 303],
  ] as const)
    await audit.finish(await audit.begin({ operator, action, target }), { status, target: undefined });
}
