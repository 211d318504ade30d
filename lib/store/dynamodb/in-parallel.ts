/**
 * Runs `work` for each item, at most `width` at a time. After a failure nothing new is begun; what is under way is awaited, then
 * the first error is thrown.
 */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  let failed = false;
  async function lane(): Promise<void> {
    for (const item of waiting) {
      if (failed) return;
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  }
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(width, items.length) }, lane));
  const failure = lanes.find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}
