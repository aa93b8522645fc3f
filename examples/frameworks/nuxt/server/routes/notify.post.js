import { sender } from '../../push.js';

export default defineEventHandler(async (event) => {
  await sender.broadcast('all', { title: 'Hello', message: 'Tea is ready' });
  return sendNoContent(event);
});
