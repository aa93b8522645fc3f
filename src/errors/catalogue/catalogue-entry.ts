export interface CatalogueEntry {
  /** The same call may succeed later without being changed. */
  readonly isRetryable: boolean;
  /** Short wording, the same for every occurrence (RFC 9457 `title`). */
  readonly title: string;
  readonly remedy: string;
}

export const entry = (title: string, remedy: string, isRetryable = false): CatalogueEntry => ({
  isRetryable,
  title,
  remedy,
});

export interface ServiceErrorEntry extends CatalogueEntry {
  readonly status: number;
}

export const answerEntry = (status: number, ...words: Parameters<typeof entry>): ServiceErrorEntry => ({
  status,
  ...entry(...words),
});
