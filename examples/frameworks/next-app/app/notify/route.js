import { sender } from '../../push.js';

export async function POST() {
  await sender.broadcast('all', { title: 'Hello', message: 'Tea is ready' });
  return new Response(null, { status: 204 });
}
