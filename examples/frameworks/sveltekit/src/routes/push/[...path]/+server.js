import { createHandler } from 'deskbell/service';
import { service } from '../../../../push.js';

const toRequest = ({ request }) => request;
const clientAddress = (event) => event.getClientAddress();
const push = createHandler({ ...service, prefix: '/push', toRequest, clientAddress });
export { push as GET, push as fallback };
