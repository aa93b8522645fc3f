export type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

/**
 * Sends a request to the service, from the page or the service worker. Cookies go along only within this origin, so
 * that the application sees its session. If they include Deskbell's own session cookie, the service asks for a CSRF
 * token; the request is then repeated once without cookies.
 */
export async function requestService(url: URL, init: RequestInit, request: Fetch = fetch): Promise<Response> {
  const response = await request(url, { ...init, credentials: 'same-origin' });
  if (response.status !== 403) return response;
  const copy = response.clone();
  const problem = await copy.json().catch(() => undefined);
  if (problem?.code !== 'ERR_CSRF') return response;
  return request(url, { ...init, credentials: 'omit' });
}
