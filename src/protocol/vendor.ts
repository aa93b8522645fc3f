// Push services that need a rule of their own, recognized by their host.

/** True for Windows' push service, which Edge uses (WNS). */
export function isWindowsPushService(origin: string): boolean {
  return new URL(origin).hostname.endsWith('.notify.windows.com');
}

/** True for Apple's push service, which Safari uses. */
export function isApplePushService(origin: string): boolean {
  return new URL(origin).hostname.endsWith('.push.apple.com');
}

/** True for Google's push service, which Chrome uses (FCM). */
export function isGooglePushService(origin: string): boolean {
  return new URL(origin).hostname === 'fcm.googleapis.com';
}
