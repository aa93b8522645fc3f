import { createHandler } from 'deskbell/service';
import { service } from '../../../push.js';

const push = createHandler({ ...service, prefix: '/push', trustProxy: true });
export { push as GET, push as POST, push as DELETE, push as OPTIONS };
