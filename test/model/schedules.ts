import { SECOND } from '../../lib/window/instant.ts';
import { FLOW, type Guards, World } from './world.ts';

/** A schedule is a list of choices; each is one step of the world. The same list always gives the same run. */
export type Schedule = readonly number[];

export interface Failure {
  readonly problem: string;
  readonly trace: readonly string[];
}

/** xorshift32: small, fast, and the same everywhere. */
export function randomSchedule(seed: number, length: number): number[] {
  let state = (seed * 2_654_435_761 + 1) >>> 0 || 1;
  return Array.from({ length }, () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  });
}

/** Runs one schedule, then lets the world settle down. Returns what is wrong then, or null. */
export async function runSchedule(schedule: Schedule, guards: Guards = {}): Promise<Failure | null> {
  const world = new World(guards);
  world.startCreate(0, 'create');
  if (schedule.length % 4 !== 0) await world.finish();
  for (const choice of schedule) await step(world, choice);
  const problem = await world.settleDown();
  return problem === null ? null : { problem, trace: world.scheduler.trace };
}

async function step(world: World, choice: number): Promise<void> {
  const { scheduler } = world;
  const kind = choice % 128;
  const detail = choice >>> 7;
  const chosen = world.alive[detail % Math.max(1, world.alive.length)];
  if (kind < 40) return scheduler.release(detail, kind < 34 ? 'none' : kind < 37 ? 'not_sent' : 'answer_lost');
  if (kind < 80) return chosen === undefined ? undefined : scheduler.burst(chosen, 1 + ((detail >>> 6) % 10));
  if (kind < 86) {
    if (chosen === undefined) return;
    return kind < 84 ? scheduler.freeze(chosen) : scheduler.thaw(chosen);
  }
  if (kind < 98) return world.alive.length < 6 ? world.startTick() : scheduler.release(detail, 'none');
  if (kind < 110) return world.startWriter(choice);
  if (kind < 115) return world.advance(BigInt(1 + (detail % 30)) * SECOND);
  if (kind < 120) {
    const process = world.mortal[detail % Math.max(1, world.mortal.length)];
    if (process !== undefined) await world.kill(process, (detail >>> 8) % 2 === 0);
    return;
  }
  if (kind < 122) return world.startCreate(detail % 4, 'or_replace', (detail >>> 8) % 3 === 0 ? 7n : 10n);
  if (kind === 122) return world.startDrop();
  if (kind === 123) return world.startCreate(detail % 4, 'create');
  if (kind === 124) return world.startPause();
  if (kind === 125) return world.startResume();
  return world.startFlush();
}

/** Removes choices as long as the schedule still fails: the shortest failing one that is found this way. */
async function shrink(schedule: Schedule, guards: Guards = {}): Promise<Schedule> {
  let shortest = [...schedule];
  for (let size = Math.ceil(shortest.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < shortest.length; ) {
      const candidate = [...shortest.slice(0, at), ...shortest.slice(at + size)];
      if ((await runSchedule(candidate, guards)) === null) at += size;
      else shortest = candidate;
    }
  }
  return shortest;
}

/** Runs schedules until one fails. Returns how many ran, and the failing one, shrunk. */
export async function search(
  schedules: number,
  guards: Guards = {},
  firstSeed = 1,
): Promise<{ ran: number; failure: (Failure & { seed: number; schedule: Schedule }) | null }> {
  for (let index = 0; index < schedules; index++) {
    const seed = firstSeed + index;
    const schedule = randomSchedule(seed, 30 + (seed % 110));
    if ((await runSchedule(schedule, guards)) === null) continue;
    const shortest = await shrink(schedule, guards);
    const failure = await runSchedule(shortest, guards);
    if (failure === null)
      throw new Error(`seed ${seed} of flow ${FLOW} fails and, shrunk, does not: not deterministic`);
    return { ran: index + 1, failure: { ...failure, seed, schedule: shortest } };
  }
  return { ran: schedules, failure: null };
}
