import { createHandler } from 'deskbell/service';
import { service } from '../../../push.js';

const push = createHandler({
  ...service,
  prefix: '/push',
  toRequest: toWebRequest,
  clientAddress: getRequestIP,
});
export default defineEventHandler(push);
