// Reads parameters of `Authorization`, `Crypto-Key` and `Encryption` (`name=value; name="value"`); names in lower case.

export function readParameters(text: string, separator: string | RegExp): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const part of text.split(separator)) {
    const [, name, quoted, bare] = /^\s*([^\s=]+)\s*=\s*(?:"([^"]*)"|(\S+))\s*$/.exec(part) ?? [];
    if (name !== undefined) parameters.set(name.toLowerCase(), quoted ?? bare ?? '');
  }
  return parameters;
}
