// Shows the outcomes of a broadcast in three ways: sentences that explain what happened to one subscription or one
// person, a table that counts the push services' responses, and a list of all attempts.
import { DeskbellError } from '../../../errors/deskbell-error.ts';
import { html, type Html } from '../../../http/description/html.ts';
import { attemptOutcomes } from '../../../store/attempts.ts';
import type { Broadcast } from '../../../store/broadcasts.ts';
import type { Store } from '../../../store/store.ts';
import { csvFileName, explain } from '../../../operations/outcomes.ts';
import { findPersonDevices, idsOf, maxShownDevices, readPage } from '../../searches.ts';
import { answersTable, attemptsTable, outcomesTable } from '../outcomes-table.ts';
import {
  card,
  empty,
  isFiltered,
  live,
  notice,
  numberField,
  older,
  searchField,
  searchForm,
  selectField,
} from '../components.ts';
import { idField, subscriptionField, textFields, type Fields } from '../forms.ts';
import { urlOf } from '../page.ts';

const attemptRows = 50;

/** The filters in the page's address, which the live parts of the page need too. */
export const chosenAttempts = (query: unknown): Fields =>
  textFields(query, ['outcome', 'subscription', 'user', 'before']);

const isAsked = ({ user, subscription }: Fields): boolean =>
  [user, subscription].some((text) => text!.trim() !== '');

/** The parts of the page that change while the broadcast runs. */
interface AttemptParts {
  /** The outcome for the subscription or person that the operator searched for. */
  readonly answer?: Html;
  /** Present if the operator searched for no subscription or person. */
  readonly attempts?: Html;
  readonly answers: Html;
}

export async function readAttempts({ id }: Broadcast, query: unknown, store: Store): Promise<AttemptParts> {
  const given = chosenAttempts(query);
  return {
    ...(isAsked(given)
      ? { answer: await renderAnswer(id, given, store) }
      : { attempts: await renderAll(id, given, store) }),
    answers: answersTable(await store.attempts.countAnswers([id]), 'Nothing.', String(id)),
  };
}

export async function renderAttempts(
  { id }: Broadcast,
  query: unknown,
  { answer, attempts, answers }: AttemptParts,
  store: Store,
): Promise<Html> {
  const given = chosenAttempts(query);
  const [nobody] = await store.attempts.outcomesOf(id, [Number.MAX_SAFE_INTEGER]);
  const isKept = nobody!.state !== 'noLongerKept' && nobody!.state !== 'notTracked';
  return html`<section class="card" aria-labelledby="why">
      <h2 id="why">What came of …</h2>
      ${searchForm(
        `/console/broadcasts/${id}#why`,
        [searchField(given, 'user', 'User'), numberField(given, 'subscription', 'or subscription')],
        'Show',
        'What came of one',
      )}
      ${answer && live('answer', answer)}
      ${
        isKept
          ? html`<p>
              <a href="${urlOf('Broadcasts', id)}/outcomes.csv" download="${csvFileName(id)}"
                >What came of everybody, as CSV</a
              >
            </p>`
          : html`<p class="quiet">${explain(nobody!)}</p>`
      }
    </section>
    ${card(
      'What was not accepted, and why',
      html`<p class="quiet small">
          Everything but acceptances, each time counted: a message that is tried again is counted each time.
        </p>
        ${live('answers', answers)}`,
    )}
    ${
      isKept &&
      (attempts === undefined
        ? html`<p><a href="${urlOf('Broadcasts', id)}#attempts">All attempts of the broadcast</a></p>`
        : html`<section class="card" aria-labelledby="attempts">
            <h2 id="attempts">Attempts</h2>
            <p class="quiet small">All of them, the newest first, ${String(attemptRows)} on a page.</p>
            ${searchForm(
              `/console/broadcasts/${id}#attempts`,
              [selectField(given, 'outcome', 'Outcome', attemptOutcomes)],
              'Show',
              'Attempts by outcome',
            )}
            ${live('attempts', attempts)}
          </section>`)
    }`;
}

async function renderAnswer(broadcastId: number, given: Fields, store: Store): Promise<Html> {
  const { user = '' } = given;
  const renderOutcomes = async (ids: readonly number[]): Promise<Html> =>
    outcomesTable('What came of it', await store.attempts.outcomesOf(broadcastId, ids), '');
  try {
    const subscriptionId = subscriptionField(given, 'subscription');
    if (subscriptionId !== undefined) return await renderOutcomes([subscriptionId]);
    const devices = await findPersonDevices(user, store);
    const ids = idsOf(devices);
    if (ids.length === 0) return empty('No subscription of this user is stored, or remembered as ended.');
    return html`${await renderOutcomes(ids)}
    ${devices.hasMore && html`<p class="quiet">Of more devices than ${String(maxShownDevices)}, these alone are shown.</p>`}`;
  } catch (error) {
    if (!(error instanceof DeskbellError)) throw error;
    return notice('bad', 'This cannot be searched for', html`<p>${error.message}</p>`);
  }
}

async function renderAll(id: number, given: Fields, { attempts: log }: Store): Promise<Html> {
  const outcome = attemptOutcomes.find((known) => known === given['outcome']);
  const filter = { broadcastId: id, outcome, beforeId: idField(given, 'before') };
  const { items, next } = await readPage(attemptRows, (limit) => log.list({ ...filter, limit }));
  return html`${attemptsTable(items, isFiltered(given) ? 'No attempt fits.' : 'No attempt yet.')}
  ${older(`/console/broadcasts/${id}`, given, 'before', next)}`;
}
