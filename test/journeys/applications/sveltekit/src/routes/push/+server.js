import { push } from '../../../../push';

export const POST = async () => Response.json(await push());
