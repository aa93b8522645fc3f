// Hosts and ranges of addresses, as settings name them.
import { isIP } from 'node:net';
import { DeskbellError } from '../../errors/deskbell-error.ts';

export function checkHosts(hosts: readonly string[]): void {
  for (const host of hosts) {
    if (/^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(host)) continue;
    throw new DeskbellError('ERR_CONFIGURATION', `${host} is not a host with an optional port`);
  }
}

export function checkAddressRanges(ranges: readonly string[]): void {
  for (const range of ranges) {
    const [address = '', bits = '0', ...rest] = range.split('/');
    const maxBits = { 4: 32, 6: 128 }[isIP(address)] ?? -1;
    if (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits && rest.length === 0) continue;
    throw new DeskbellError('ERR_CONFIGURATION', `${range} is neither an IP address nor a range of them`);
  }
}
