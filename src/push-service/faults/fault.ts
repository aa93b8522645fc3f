// What can go wrong at a push service, for whom, how often and for how long. Types only.

/** What goes wrong. */
export type FaultKind =
  /** Another answer than the right one. */
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
  /** Status, headers and half of the body of the right answer, then the stream (HTTP/2) or connection (HTTP/1.1) breaks. */
  | { readonly kind: 'half' }
  /** The connection is reset, with everything else on it. */
  | { readonly kind: 'reset' }
  /** HTTP/2: RST_STREAM with this error code, by default 7, REFUSED_STREAM. HTTP/1.1: as `reset`. */
  | { readonly kind: 'reset-stream'; readonly code?: number }
  /**
   * HTTP/2: from its n-th stream on, a connection is told GOAWAY; later streams are not processed. HTTP/1.1: the
   * n-th answer of a connection says `connection: close`. `code`: HTTP/2 error code, by default 0, NO_ERROR.
   */
  | { readonly kind: 'goaway'; readonly afterStreams: number; readonly code?: number };

/** Which requests it applies to; what is left out does not narrow it down. */
export interface FaultScope {
  /** The next n matching requests, then no more. */
  readonly times?: number;
  /** Every n-th matching request: 0.25 is the 4th, 8th, 12th … */
  readonly share?: number;
  /** Requests to this endpoint only. */
  readonly endpoint?: string;
  /** For so long from now. */
  readonly forMs?: number;
  /**
   * The message is accepted and delivered before the fault, so that the sender is left in doubt. Without it the
   * message is not looked at. Only for `status`, `hang`, `reset` and `reset-stream`; `half` always accepts.
   */
  readonly afterAccepting?: boolean;
}

/** Something that goes wrong on purpose, and for which requests. */
export type Fault = FaultKind & FaultScope;

/** Takes the place of the right answer, or spoils it. */
export type EndingFault = Exclude<Fault, { kind: 'delay' | 'goaway' }>;
