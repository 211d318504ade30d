import { describe, expect, it } from 'vitest';
import { progressBar } from '../../../lib/local/progress-bar.ts';

function output(isTTY: boolean, columns = 80) {
  const written: string[] = [];
  return { written, isTTY, columns, write: (text: string) => written.push(text) };
}

describe('progress bar', () => {
  it('is redrawn in place on a terminal, and only when it changes', () => {
    const terminal = output(true);
    const bar = progressBar(terminal, 'Loading');
    bar.show(0);
    bar.show(0);
    bar.show(0.5, '15 rows');
    bar.show(1.2);
    bar.end();
    expect(terminal.written).toEqual([
      `\r\x1b[KLoading ${'░'.repeat(30)}   0 %`,
      `\r\x1b[KLoading ${'█'.repeat(15)}${'░'.repeat(15)}  50 % 15 rows`,
      `\r\x1b[KLoading ${'█'.repeat(30)} 100 %`,
      '\n',
    ]);
  });

  it('never fills the last column, where a terminal would go on in the next line', () => {
    const terminal = output(true, 20);
    progressBar(terminal, 'A long label').show(0.3, 'note');
    expect(terminal.written[0]?.replace('\r\x1b[K', '')).toHaveLength(19);
  });

  it('writes a plain line per quarter where there is no terminal', () => {
    const file = output(false);
    const bar = progressBar(file, 'Loading');
    for (const done of [0, 0.1, 0.26, 0.3, 0.49, 0.9999, 0.99999, 1, 1]) bar.show(done);
    bar.end();
    expect(file.written).toEqual(['Loading   0 %\n', 'Loading  26 %\n', 'Loading  99 %\n', 'Loading 100 %\n']);
  });

  it('says 100 % of work that was done before it began', () => {
    const file = output(false);
    progressBar(file, 'Loading').show(1);
    expect(file.written).toEqual(['Loading 100 %\n']);
  });
});
