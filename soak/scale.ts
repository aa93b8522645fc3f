// How long the soak tests take: `SOAK_SCALE=0.05 npm run soak` runs a twentieth of them, to try them out.

/** The number at full length, cut down by SOAK_SCALE. */
export function scaled(full: number): number {
  const scale = Number(process.env['SOAK_SCALE'] ?? 1);
  if (!(scale > 0))
    throw new Error(`SOAK_SCALE is ${process.env['SOAK_SCALE']}; it must be a positive number.`);
  return Math.ceil(full * scale);
}
