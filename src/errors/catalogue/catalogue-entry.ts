// What the catalogue says of every error.

export interface CatalogueEntry {
  /** True where the same call may succeed later without being changed. */
  readonly isRetryable: boolean;
  /** Short wording, the same for every occurrence (RFC 9457 `title`). */
  readonly title: string;
  /** What the reader can do. */
  readonly remedy: string;
}

export const entry = (title: string, remedy: string, isRetryable = false): CatalogueEntry => ({
  isRetryable,
  title,
  remedy,
});

/** What a listener answers with. */
export interface ServiceErrorEntry extends CatalogueEntry {
  /** HTTP status of the response. */
  readonly status: number;
}

export const answerEntry = (status: number, ...words: Parameters<typeof entry>): ServiceErrorEntry => ({
  status,
  ...entry(...words),
});
