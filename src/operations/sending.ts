// What the store sends by itself: its pause, and how that ends.
import { resumeSending, type ResumeOptions } from '../delivery/resume-sending.ts';
import type { Change } from './operation.ts';

export const pauseStore: Change<object, unknown> = {
  action: 'sending.pause',
  target: () => 'sending',
  run: ({ store }) => store.sending.pause('asked'),
};

/** Its result is the broadcasts that continue. */
export const resumeStore: Change<ResumeOptions, readonly number[]> = {
  action: 'sending.resume',
  target: () => 'sending',
  run: ({ store }, options) => resumeSending(store, options),
};
