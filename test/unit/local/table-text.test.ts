import { expect, it } from 'vitest';
import { tableText } from '../../../lib/local/table-text.ts';

it('sets numbers flush right, text flush left, and leaves null blank', () => {
  const rows = [
    ['ORD', '1044', '-3.5'],
    ['LA', '7', null],
  ];
  expect(tableText({ columns: ['origin', 'n', 'mean'], rows }).split('\n')).toEqual([
    'origin     n  mean',
    '──────  ────  ────',
    'ORD     1044  -3.5',
    'LA         7',
  ]);
});

it('is a heading alone where there are no rows', () => {
  expect(tableText({ columns: ['a'], rows: [] })).toBe('a\n─');
});
