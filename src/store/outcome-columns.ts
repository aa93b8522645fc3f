// The columns in which outcomes are counted, and the SQL that follows from them. Whoever adds an outcome adds it to `settlements`,
// and a column of its name to the tables of both databases.
import { settlements } from './broadcasts.ts';

export const outcomeColumns = ['attempts', ...settlements] as const;

type OutcomeColumn = (typeof outcomeColumns)[number];

const join = (toText: (column: OutcomeColumn) => string): string => outcomeColumns.map(toText).join(', ');

/** Nothing has been sent yet. */
export const noOutcomes = Object.fromEntries(outcomeColumns.map((column) => [column, 0])) as Readonly<
  Record<OutcomeColumn, number>
>;

/** The names of the columns. */
export const listColumns = join(String);

/** The parameters of a statement of SQLite. */
export const listParameters = join((column) => `:${column}`);

/** Of an upsert into a table `c`: to the counts of a row, those that could not be inserted are added. */
export const addColumns = join((column) => `${column} = c.${column} + excluded.${column}`);

/** Sums over rows. */
export const sumColumns = join((column) => `sum(${column}) as ${column}`);

/** The rows of an audience that have an outcome. */
export const settledRows = settlements.join(' + ');
