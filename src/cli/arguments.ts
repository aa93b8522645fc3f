// Reads the values of flags and arguments that are not configuration.
import { InvalidArgumentError } from 'commander';

export function parsePositiveInteger(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  if (!Number.isSafeInteger(value) || value === 0)
    throw new InvalidArgumentError('It takes a positive integer.');
  return value;
}

export function parsePort(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : -1;
  if (value < 0 || value > 65_535) throw new InvalidArgumentError('It takes an integer from 0 to 65535.');
  return value;
}

export function parseSeconds(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('It takes a whole number of seconds.');
  return Number(text);
}
