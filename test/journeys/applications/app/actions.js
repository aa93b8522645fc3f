'use server';
import { push } from '../push';

export async function act() {
  globalThis.result = JSON.stringify(await push());
}
