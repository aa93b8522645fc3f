import { createHandler } from 'deskbell/service';
import { service } from '../push.js';

const push = createHandler({
  ...service,
  prefix: '/push',
  toRequest: ({ request }) => request,
  trustProxy: true,
});
export { push as loader, push as action };
