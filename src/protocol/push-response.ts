// The answer of a push service to one push message, as far as it is read.

/** The HTTP response of a push service. */
export interface PushResponse {
  readonly status: number;
  /** Names in lower case; repeated fields joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** The beginning of the body as text: at most 4096 bytes of it. */
  readonly body: string;
}
