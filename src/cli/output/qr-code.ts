// A QR code in characters, each of which shows two modules, one above the other.

/** Light modules around the code. */
const border = 2;
/** Dark on light: neither, below, above, both. */
const characters = [' ', '▄', '▀', '█'] as const;

/** @returns lines of equal length, for dark characters on a light background */
export async function drawQrCode(text: string): Promise<readonly string[]> {
  const { encodeQR } = await import('qr');
  const modules = encodeQR(text, 'raw', { border });
  return modules.flatMap((above, row) => {
    if (row % 2 === 1) return [];
    const below = modules[row + 1];
    return above
      .map((isDark, column) => characters[Number(isDark) * 2 + Number(below?.[column] ?? false)] ?? ' ')
      .join('');
  });
}
