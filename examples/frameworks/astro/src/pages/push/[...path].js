import { createHandler } from 'deskbell/service';
import { service } from '../../../push.js';

const toRequest = ({ request }) => request;
const clientAddress = (context) => context.clientAddress;
export const prerender = false;
export const ALL = createHandler({ ...service, prefix: '/push', toRequest, clientAddress });
