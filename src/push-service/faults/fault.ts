/** What goes wrong. */
export type FaultKind =
  | {
      readonly kind: 'status';
      readonly status: number;
      /** Seconds, or an HTTP date. */
      readonly retryAfter?: number | string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** The right answer, but late. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** No answer; the connection stays open. */
  | { readonly kind: 'hang' }
  /**
   * Status, headers and half of the body of the right answer, then the stream (HTTP/2) or connection (HTTP/1.1) breaks.
   */
  | { readonly kind: 'half' }
  /** The connection is reset, with all its requests. */
  | { readonly kind: 'reset' }
  /** HTTP/2: RST_STREAM with this error code, by default 7, REFUSED_STREAM. HTTP/1.1: as `reset`. */
  | { readonly kind: 'reset-stream'; readonly code?: number }
  /**
   * HTTP/2: at its n-th stream, a connection gets GOAWAY; later streams are not processed. HTTP/1.1: a connection's
   * n-th answer says `connection: close`. `code`: HTTP/2 error code, by default 0, NO_ERROR.
   */
  | { readonly kind: 'goaway'; readonly afterStreams: number; readonly code?: number };

/** Which requests a fault applies to. Absent members do not narrow it down. */
export interface FaultScope {
  /** Only the next n matching requests. */
  readonly times?: number;
  /** Every n-th matching request: 0.25 is the 4th, 8th, 12th … */
  readonly share?: number;
  /** Only requests to this endpoint. */
  readonly endpoint?: string;
  /** Only for this long from now. */
  readonly forMs?: number;
  /**
   * The message is accepted and delivered before the fault, so that the sender is left in doubt. Without it the message
   * is not looked at. Only for `status`, `hang`, `reset` and `reset-stream`; `half` always accepts.
   */
  readonly afterAccepting?: boolean;
}

/** Something that goes wrong on purpose, and for which requests. */
export type Fault = FaultKind & FaultScope;

export type EndingFault = Exclude<Fault, { kind: 'delay' | 'goaway' }>;
