import { createMiddleware } from 'deskbell/service';
import { service } from '../../../push.js';

const push = createMiddleware(service);
export const config = { api: { bodyParser: false, externalResolver: true } };
export default function handler(request, response) {
  const { url } = request;
  push(Object.assign(request, { originalUrl: url, url: url.slice('/api/push'.length) }), response);
}
