import { performance } from 'node:perf_hooks';

export async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The middle one of several measurements; of an even number, the higher of the two in the middle. */
export function median(measured: readonly number[]): number {
  const sorted = measured.toSorted((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error('nothing was measured');
  return middle;
}

export function print(line = ''): void {
  process.stdout.write(`${line}\n`);
}

export function row(name: string, ms: number, against?: { readonly ms: number }): void {
  const ratio = against === undefined ? '' : `${(ms / against.ms).toFixed(1)} x`;
  print(`  ${name.padEnd(52)} ${ms.toFixed(1).padStart(10)} ms ${ratio.padStart(12)}`);
}
