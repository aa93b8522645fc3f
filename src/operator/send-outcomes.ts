// Answers with what came of a broadcast as CSV: as fast as the client takes it, so that a million rows fill no memory.
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { AttemptStore, RowOutcome } from '../store/attempts.ts';
import { csvContentType, csvFileName, csvHeader, readOutcomes, toCsv } from '../operations/outcomes-csv.ts';

/** @param show gives what is shown of a row */
export function sendOutcomes(
  reply: FastifyReply,
  attempts: Pick<AttemptStore, 'outcomesAfter'>,
  broadcastId: number,
  show: (outcome: RowOutcome) => RowOutcome = (outcome) => outcome,
): FastifyReply {
  async function* lines(): AsyncGenerator<string> {
    yield csvHeader;
    for await (const outcomes of readOutcomes(attempts, broadcastId)) yield toCsv(outcomes.map(show));
  }
  return reply
    .header('content-type', csvContentType)
    .header('content-disposition', `attachment; filename="${csvFileName(broadcastId)}"`)
    .send(Readable.from(lines(), { highWaterMark: 1 }));
}
