// A request to the Deskbell service, from the page or from the service worker: which cookies go along.

export type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

/**
 * Sends the cookies of this origin if the service is on it, so that the application sees its session; never any to
 * another origin. Where they include Deskbell's own session cookie, the service asks for a CSRF token, and the request
 * is repeated once without cookies.
 */
export async function requestService(url: URL, init: RequestInit, request: Fetch = fetch): Promise<Response> {
  const response = await request(url, { ...init, credentials: 'same-origin' });
  if (response.status !== 403) return response;
  const copy = response.clone();
  const problem = await copy.json().catch(() => undefined);
  if (problem?.code !== 'ERR_CSRF') return response;
  return request(url, { ...init, credentials: 'omit' });
}
