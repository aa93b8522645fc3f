// Every error that Deskbell names, by its stable code. docs/errors.md is generated from these tables.
import type { CatalogueEntry } from './catalogue-entry.ts';
import { fieldErrors } from './field-errors.ts';
import { libraryErrors } from './library-errors.ts';
import { ownOperatorErrors } from './operator-errors.ts';
import { serviceErrors } from './service-errors.ts';

export const catalogue = {
  ...serviceErrors,
  ...fieldErrors,
  ...libraryErrors,
  ...ownOperatorErrors,
} as const satisfies Record<string, CatalogueEntry>;

/** The stable codes of all errors; docs/errors.md explains each. */
export type ErrorCode = keyof typeof catalogue;
