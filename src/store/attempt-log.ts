// How much the attempt log keeps: it is bounded, whatever is sent.

export const attemptLogLimits = {
  maxAcceptedPerBroadcast: 1000,
  maxOthersPerBroadcast: 10_000,
  /** The newest broadcasts; of older ones, no attempts are kept. */
  maxLoggedBroadcasts: 100,
} as const;
