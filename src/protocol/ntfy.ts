// What is particular to ntfy, whose servers stand under any host: they are recognized by what they answer.
import type { PushResponse } from './push-response.ts';

/**
 * ntfy answers 507 with this code for a topic without a subscriber in the last twelve hours, and after a restart for every topic
 * until its subscriber is back; it chose a 5xx so that the subscription is not removed at once (`handlePublishInternal` in
 * server/server.go and `errHTTPInsufficientStorageUnifiedPush` in server/errors.go of binwiederhier/ntfy, issue 664 there).
 */
const withoutSubscriber = /"code"\s*:\s*50701\b/;

/**
 * How long a subscription is asked for again at least, from one attempt to the next. With ten attempts that is 13.5 hours; its own
 * Matrix gateway gives a topic up after twelve (`matrixRejectPushKeyForUnifiedPushTopicWithoutRateVisitorAfter` in
 * server/server_matrix.go).
 */
export const askAgainAfterMs = 90 * 60 * 1000;

/** True where ntfy says that nobody listens to the topic. */
export const isWithoutSubscriber = ({ status, body }: PushResponse): boolean =>
  status === 507 && withoutSubscriber.test(body);
