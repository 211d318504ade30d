import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY, INSTANT_MAX, INSTANT_MIN, type Instant } from '../../lib/window/instant.ts';
import { formatInstant, parseInstant } from '../../lib/window/rfc3339.ts';
import { covers, type TimeRange } from '../../lib/window/time-range.ts';
import type { WindowSpec } from '../../lib/window/window-spec.ts';
import {
  alignOutwards,
  isBoundary,
  stepWindows,
  windowContaining,
  windowsNearLabel,
} from '../../lib/window/windows.ts';
import { anyInstant, anyRange, anySpec } from './window-arbitraries.ts';

type WindowOf = (spec: WindowSpec, t: Instant) => TimeRange;

/** Every instant lies in exactly one window, and windows follow each other without a gap up to the limits. */
function tiling(windowOf: WindowOf) {
  return fc.property(anySpec, anyInstant, (spec, t) => {
    const window = windowOf(spec, t);
    const { start, end } = window;
    expect(start <= t && (t < end || t === INSTANT_MAX)).toBe(true);
    expect(start >= INSTANT_MIN && end <= INSTANT_MAX).toBe(true);
    expect(windowOf(spec, start)).toEqual(window);
    expect(windowOf(spec, (end - 1n) as Instant)).toEqual(window);
    if (end < INSTANT_MAX) expect(windowOf(spec, end).start).toBe(end);
    if (start > INSTANT_MIN) expect(windowOf(spec, (start - 1n) as Instant).end).toBe(start);
  });
}

test('windows tile all time', () => {
  fc.assert(tiling(windowContaining), { numRuns: 2000 });
});

test.each<[string, WindowOf]>([
  ['a gap', (spec, t) => ({ ...windowContaining(spec, t), end: (windowContaining(spec, t).end - 1n) as Instant })],
  [
    'an overlap',
    (spec, t) => ({ ...windowContaining(spec, t), start: stepWindows(spec, windowContaining(spec, t).start, -1) }),
  ],
  ['a window that does not hold its instant', (spec, t) => windowContaining(spec, (t + DAY) as Instant)],
])('control: %s between windows is caught', (_, wrong) => {
  expect(fc.check(tiling(wrong), { numRuns: 200 }).failed).toBe(true);
});

test('aligning covers, ends on boundaries, adds no whole window, and changes nothing the second time', () => {
  fc.assert(
    fc.property(anySpec, anyRange, (spec, range) => {
      const aligned = alignOutwards(spec, range);
      expect(covers(aligned, range)).toBe(true);
      expect(isBoundary(spec, aligned.start) && isBoundary(spec, aligned.end)).toBe(true);
      expect(alignOutwards(spec, aligned)).toEqual(aligned);
      expect(stepWindows(spec, aligned.start, 1)).toBeGreaterThan(range.start);
      expect(stepWindows(spec, aligned.end, -1)).toBeLessThan(range.end);
    }),
    { numRuns: 1000 },
  );
});

test('a step of n is n steps, on boundaries, and leads back', () => {
  fc.assert(
    fc.property(anySpec, anyInstant, fc.integer({ min: -12, max: 12 }), (spec, t, n) => {
      const from = windowContaining(spec, t).start;
      const to = stepWindows(spec, from, n);
      let walked = from;
      for (let step = 0; step < Math.abs(n); step += 1) walked = stepWindows(spec, walked, Math.sign(n));
      expect(to).toBe(walked);
      expect(isBoundary(spec, to)).toBe(true);
      if (to > INSTANT_MIN && to < INSTANT_MAX) expect(stepWindows(spec, to, -n)).toBe(from);
    }),
    { numRuns: 1000 },
  );
});

test('a step from inside a window ends where the window ends', () => {
  fc.assert(
    fc.property(anySpec, anyInstant, (spec, t) => {
      const { start, end } = windowContaining(spec, t);
      expect(stepWindows(spec, t, 1)).toBe(end);
      if (t > start) expect(stepWindows(spec, t, -1)).toBe(start);
    }),
    { numRuns: 1000 },
  );
});

test('the windows near a label hold it, on boundaries', () => {
  fc.assert(
    fc.property(anySpec, anyInstant, (spec, label) => {
      const near = windowsNearLabel(spec, label);
      expect(covers(near, windowContaining(spec, label))).toBe(true);
      expect(alignOutwards(spec, near)).toEqual(near);
    }),
    { numRuns: 500 },
  );
});

test('an instant comes back from its text, and texts sort like instants among years of one form', () => {
  fc.assert(
    fc.property(anyInstant, anyInstant, (a, b) => {
      expect(parseInstant(formatInstant(a))).toBe(a);
      const [textA, textB] = [formatInstant(a), formatInstant(b)];
      const plain = /^\d/.test(textA) && /^\d/.test(textB);
      if (plain) expect(textA < textB).toBe(a < b);
    }),
    { numRuns: 5000 },
  );
});

test('whatever the text, it is read or refused with a reason', () => {
  const nearly = fc.tuple(anyInstant, fc.nat(30), fc.string({ maxLength: 2 })).map(([t, at, put]) => {
    const text = formatInstant(t);
    return text.slice(0, at) + put + text.slice(at + 1);
  });
  fc.assert(
    fc.property(fc.oneof(fc.string(), nearly), (text) => {
      try {
        const t = parseInstant(text);
        expect(t >= INSTANT_MIN && t <= INSTANT_MAX).toBe(true);
      } catch (error) {
        expect(error).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('is not an instant') });
      }
    }),
    { numRuns: 5000 },
  );
});
