// The search on every page: by user, id, end of an endpoint, or words of a message. A single result is opened at once.
import type { FastifyInstance } from 'fastify';
import { checkUser } from '../../../audience/user-and-tags.ts';
import { DeskbellError } from '../../../errors/deskbell-error.ts';
import { html, type Html } from '../../../http/description/html.ts';
import type { Store } from '../../../store/store.ts';
import type { OperatorContext } from '../../context.ts';
import { findPersonDevices, idsOf, searchBroadcasts } from '../../searches.ts';
import { empty, table, untrusted, urlWith, wide } from '../components.ts';
import { idText } from '../figures.ts';
import { idField, textField } from '../forms.ts';
import { scheduleTitle, titleOf } from '../outcomes-table.ts';
import { pages, sendPage, urlOf } from '../page.ts';
import { personUrl } from './people.ts';

interface Hit {
  readonly kind: string;
  readonly url: string;
  readonly name: Html;
}

const maxHits = 10;
/** The shortest end of an endpoint to search for; shorter ends match too many. */
const minEndCharacters = 6;

export function addSearchPage(app: FastifyInstance, { store }: OperatorContext): void {
  app.get('/search', async (request, reply) => {
    const text = textField(request.query, 'q').trim();
    const hits = text === '' ? [] : await find(text, idField(request.query, 'q'), store);
    const [hit, ...others] = hits;
    if (hit !== undefined && others.length === 0) return reply.redirect(hit.url, 303);
    return sendPage(reply, {
      title: 'Search',
      lead: html`A user, the id of a subscription, broadcast or schedule, words of a message, or the last
      ${String(minEndCharacters)} characters of an endpoint or more.`,
      content:
        text === ''
          ? empty('Write what to look for into the field “Search”.')
          : table(
              'Results',
              hits.map(({ kind, url, name }) => ({
                What: kind,
                Name: wide(html`<a href="${url}">${name}</a>`),
              })),
              `Nothing was found for “${text}”.`,
            ),
    });
  });
}

async function find(text: string, id: number | undefined, store: Store): Promise<readonly Hit[]> {
  const found = await Promise.all([
    id === undefined ? [] : findById(id, store),
    findUser(text, store),
    findByWords(text, store),
  ]);
  const hits = found.flat();
  const mayBeEnd = text.length >= minEndCharacters && !/\s/.test(text);
  // tried last, because this reads all subscriptions
  return hits.length === 0 && mayBeEnd ? findByEnd(text, store) : hits;
}

async function findById(id: number, { subscriptions, attempts, broadcasts, schedules }: Store) {
  const [subscription, ended, broadcast, [schedule]] = await Promise.all([
    subscriptions.findById(id),
    attempts.outcomesTo([id], { limit: 1 }),
    broadcasts.find(id),
    schedules.list({ afterId: id - 1, limit: 1 }),
  ]);
  return [
    ...(subscription === undefined && ended.outcomes.length === 0 ? [] : [subscriptionHit(id)]),
    ...(broadcast === undefined ? [] : [hitOf('Broadcast', id, titleOf(broadcast))]),
    ...(schedule?.id === id ? [hitOf('Schedule', id, scheduleTitle(schedule))] : []),
  ];
}

const hitOf = (kind: 'Broadcast' | 'Schedule' | 'Subscription', id: number, name: Html): Hit => ({
  kind: `${kind} ${idText(thingOf[kind], id)}`,
  url: urlOf(`${kind}s`, id),
  name,
});

const thingOf = { Broadcast: 'broadcast', Schedule: 'schedule', Subscription: 'subscription' } as const;

const subscriptionHit = (id: number): Hit => hitOf('Subscription', id, html`${idText('subscription', id)}`);

async function findUser(text: string, store: Store): Promise<readonly Hit[]> {
  try {
    const user = checkUser(text, '/q');
    const isKnown = idsOf(await findPersonDevices(user, store)).length > 0;
    return isKnown ? [{ kind: 'User', url: personUrl(user), name: untrusted(user) }] : [];
  } catch (error) {
    if (error instanceof DeskbellError && error.code === 'ERR_FIELD_VALUE') return [];
    throw error;
  }
}

async function findByEnd(end: string, { subscriptions, endpoints }: Store): Promise<readonly Hit[]> {
  const whole = await subscriptions.findByEndpoint(end);
  const ids = whole === undefined ? await endpoints.endingIn(end, maxHits) : [whole.id];
  return ids.map(subscriptionHit);
}

async function findByWords(text: string, { broadcasts, schedules }: Store): Promise<readonly Hit[]> {
  const [{ items, next }, all] = await Promise.all([
    searchBroadcasts(broadcasts, { text }, { limit: maxHits }),
    schedules.list(),
  ]);
  const words = text.toLocaleLowerCase();
  const fitting = all.filter(({ message: { title, message } }) =>
    `${title}\n${message}`.toLocaleLowerCase().includes(words),
  );
  return [
    ...items.map((broadcast) => hitOf('Broadcast', broadcast.id, titleOf(broadcast))),
    ...(next === undefined
      ? []
      : [{ kind: 'Broadcasts', url: urlWith(pages.Broadcasts, { text }), name: html`All, and older ones` }]),
    ...fitting.slice(0, maxHits).map((schedule) => hitOf('Schedule', schedule.id, scheduleTitle(schedule))),
  ];
}
