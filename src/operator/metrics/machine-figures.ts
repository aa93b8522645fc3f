// What metrics say of the machine that answers, and of its configuration.

/** What is not known is absent. */
export interface MachineFigures {
  /** Of the data directory. */
  readonly disk?: { readonly freeBytes: number; readonly sizeBytes: number } | undefined;
  readonly subscriptionLimit?: number | undefined;
  /** Of the operator's listener. */
  readonly certificateEndsAtMs?: number | undefined;
  /** 0: none was made. */
  readonly lastBackupAtMs?: number | undefined;
}
