import type { FlowDefinition } from '../flow/definition.ts';
import type { FlowState } from '../store/flow-store.ts';
import { clip, normalize, subtract } from '../window/dirty-set.ts';
import { INSTANT_MAX, INSTANT_MIN, type Instant, instant } from '../window/instant.ts';
import { ALL_TIME, type TimeRange } from '../window/time-range.ts';
import { windowContaining } from '../window/windows.ts';

/** Which dirty times a plan may take at a moment. Each is made of whole windows; null holds none. */
export interface Admission {
  /** Not expired. */
  readonly kept: TimeRange | null;
  /** Neither too old nor too new to be believed, nor frozen. */
  readonly accepted: TimeRange | null;
  /** Old enough to be taken now. */
  readonly ripe: TimeRange | null;
}

/** What becomes of dirty times. Together with those that are expired they are what was given. */
export interface Divided {
  readonly live: readonly TimeRange[];
  /** Too young for now. */
  readonly waiting: readonly TimeRange[];
  /** Outside of what the flow accepts, or frozen. */
  readonly aside: readonly TimeRange[];
}

type Bounded = Pick<FlowDefinition, 'compiled' | 'expireAfter' | 'options'>;

export function admissionAt(
  definition: Bounded,
  { frozenBefore }: Pick<FlowState, 'frozenBefore'>,
  now: Instant,
): Admission {
  const { window } = definition.compiled;
  const { acceptPast, acceptFuture, onDelete } = definition.options;
  const holding = (t: bigint): TimeRange => (window === null ? ALL_TIME : windowContaining(window.spec, instant(t)));
  const oldest = acceptPast === null ? INSTANT_MIN : holding(now - acceptPast).start;
  const frozen = onDelete === 'keep' ? (frozenBefore ?? INSTANT_MIN) : INSTANT_MIN;
  return {
    kept: from(expiryBound(definition, now)),
    accepted: between(
      oldest > frozen ? oldest : frozen,
      acceptFuture === null ? INSTANT_MAX : holding(now + acceptFuture).end,
    ),
    ripe: between(INSTANT_MIN, ripeBound(definition, now)),
  };
}

/** Start of the window that holds the oldest time which is still kept up to date. */
function expiryBound({ compiled, expireAfter }: Omit<Bounded, 'options'>, now: Instant): Instant {
  if (expireAfter === null || compiled.window === null) return INSTANT_MIN;
  return windowContaining(compiled.window.spec, instant(now - expireAfter)).start;
}

/** Windows that end by it are old enough for a plan. */
function ripeBound({ compiled, options }: Omit<Bounded, 'expireAfter'>, now: Instant): Instant {
  if (options.delay === null || compiled.window === null) return INSTANT_MAX;
  return windowContaining(compiled.window.spec, instant(now - options.delay)).start;
}

/** `parts` is a normal list. */
export function divide(parts: readonly TimeRange[], { kept, accepted, ripe }: Admission): Divided {
  const unexpired = common(parts, kept);
  const believed = common(unexpired, accepted);
  return { live: common(believed, ripe), waiting: outside(believed, ripe), aside: outside(unexpired, accepted) };
}

/** `accepted`: it was set aside once and is live by now. */
export type WhyAside = 'too_old' | 'too_new' | 'frozen' | 'accepted';

export function whyAside(
  { start }: TimeRange,
  definition: Bounded,
  state: Pick<FlowState, 'frozenBefore'>,
  now: Instant,
): WhyAside {
  const { accepted } = admissionAt(definition, state, now);
  if (accepted !== null && start >= accepted.end) return 'too_new';
  if (definition.options.onDelete === 'keep' && state.frozenBefore !== null && start < state.frozenBefore)
    return 'frozen';
  return accepted !== null && start >= accepted.start ? 'accepted' : 'too_old';
}

/** Ranges set aside that one flow keeps apart. With more of them, those closest to each other are joined. */
const MOST_ASIDE = 100;

/** What is set aside once `more` joins it, without what is expired by now. */
export function setAside(
  aside: readonly TimeRange[],
  more: readonly TimeRange[],
  { kept }: Admission,
): readonly TimeRange[] {
  const ranges = common(normalize([...aside, ...more]), kept);
  while (ranges.length > MOST_ASIDE) {
    const closest = ranges
      .slice(1)
      .reduce((best, _, index) => (gap(ranges, index) < gap(ranges, best) ? index : best), 0);
    const [left, right] = ranges.slice(closest, closest + 2);
    if (left !== undefined && right !== undefined) ranges.splice(closest, 2, { start: left.start, end: right.end });
  }
  return ranges;
}

function gap(ranges: readonly TimeRange[], index: number): bigint {
  return (ranges[index + 1]?.start ?? INSTANT_MAX) - (ranges[index]?.end ?? INSTANT_MIN);
}

function from(start: Instant): TimeRange | null {
  return between(start, INSTANT_MAX);
}

function between(start: Instant, end: Instant): TimeRange | null {
  return start < end ? { start, end } : null;
}

function common(ranges: readonly TimeRange[], within: TimeRange | null): TimeRange[] {
  return within === null ? [] : clip(ranges, within);
}

function outside(ranges: readonly TimeRange[], of: TimeRange | null): readonly TimeRange[] {
  return of === null ? ranges : subtract(ranges, [of]);
}
