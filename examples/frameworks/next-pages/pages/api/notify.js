import { sender } from '../../push.js';

export default async function handler(_request, response) {
  await sender.broadcast('all', { title: 'Hello', message: 'Tea is ready' });
  response.status(204).end();
}
