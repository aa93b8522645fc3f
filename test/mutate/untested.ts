// Called by a test that does not look at the result: mutation testing that works lets every mutant of this file survive.

export function sumOf(one: number, other: number): number {
  return one + other;
}
