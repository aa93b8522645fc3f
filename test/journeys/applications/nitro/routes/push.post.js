import { push } from '../../push';

export default defineEventHandler(() => push());
